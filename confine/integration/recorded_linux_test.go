package integration

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailRecordsSocketsAndLinks: a socket of the host's inside of a grant, and what a
// link inside of one leads out to, are recorded where the kernel refuses them, and what
// is granted is not.
func TestJailRecordsSocketsAndLinks(t *testing.T) {
	jailtest.Needs(t)
	dir, out := testkit.ShortDir(t), testkit.ShortDir(t)
	testkit.Accept(t, "unix", dir+"/hidden")
	testkit.Accept(t, "unix", dir+"/named")
	for name, text := range map[string]string{out + "/key": "secret", dir + "/.env": "X=1", dir + "/plain": ""} {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o666), os.Chmod(name, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"key": out + "/key", "config": ".env", "chain": "key", "alias": "plain", "nowhere": "missing"} {
		if err := os.Symlink(target, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: policy.Read | policy.Write}, jailtest.Grant{Path: dir + "/hidden", Rights: 0}, jailtest.Grant{Path: dir + "/named", Rights: policy.Read | policy.Write}, jailtest.Grant{Path: dir + "/.env", Rights: 0})
	p.Dir, p.LinksAstray = dir, true
	for _, c := range []struct {
		try  attacker.Attempt
		want string // what came of it
		told string // AXIS OPERATION TARGET, "" for nothing
	}{
		{attacker.Try("dial", "unix", dir+"/named"), attacker.Succeeded, ""},
		{attacker.Try("dial", "unix", "named"), attacker.Succeeded, ""},
		{attacker.Try("dial", "unix", dir+"/hidden"), "EACCES", "ipc connect " + dir + "/hidden"},
		{attacker.Try("dial", "unix", "hidden"), "EACCES", "ipc connect " + dir + "/hidden"},
		{attacker.Try("write", dir+"/alias"), attacker.Succeeded, ""},
		{attacker.Try("write", dir+"/nowhere"), "ENOENT", ""},
		{attacker.Try("write", dir+"/key"), "ENOENT", "fs write " + out + "/key"},
		{attacker.Try("write", "key"), "ENOENT", "fs write " + out + "/key"},
		{attacker.Try("write", dir+"/config"), "EACCES", "fs write " + dir + "/.env"},
		{attacker.Try("read", dir+"/alias"), attacker.Succeeded, ""},
		{attacker.Try("read", dir+"/nowhere"), "ENOENT", ""},
		{attacker.Try("read", dir+"/key"), "ENOENT", "fs read " + out + "/key"},
		{attacker.Try("read", "key"), "ENOENT", "fs read " + out + "/key"},
		{attacker.Try("read", "chain"), "ENOENT", "fs read " + out + "/key"},
		{attacker.Try("read", dir+"/config"), "EACCES", "fs read " + dir + "/.env"},
		{attacker.Try("read", out+"/key"), "ENOENT", ""},
	} {
		got, denials := attemptIn(t, p, c.try)
		told := ""
		for _, d := range denials {
			told += fmt.Sprintf("%s %s %s", d.Axis, d.Operation, d.Target)
		}
		if got != c.want || told != c.told {
			t.Errorf("%v: %s and %q, want %s and %q", c.try, got, told, c.want, c.told)
		}
	}
}
