package confine

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailRecordsSocketsAndLinks: a socket of the host's inside of a grant, and what a
// link inside of one leads out to, are recorded where the kernel refuses them, and what
// is granted is not.
func TestJailRecordsSocketsAndLinks(t *testing.T) {
	needsJail(t)
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
	p := jailProfile(t, grant{dir, policy.Read | policy.Write}, grant{dir + "/hidden", 0}, grant{dir + "/named", policy.Read | policy.Write}, grant{dir + "/.env", 0})
	p.Dir, p.LinksAstray = dir, true
	for _, c := range []struct {
		try  attempt
		want string // what came of it
		told string // AXIS OPERATION TARGET, "" for nothing
	}{
		{try("dial", "unix", dir+"/named"), succeeded, ""},
		{try("dial", "unix", "named"), succeeded, ""},
		{try("dial", "unix", dir+"/hidden"), "EACCES", "ipc connect " + dir + "/hidden"},
		{try("dial", "unix", "hidden"), "EACCES", "ipc connect " + dir + "/hidden"},
		{try("write", dir+"/alias"), succeeded, ""},
		{try("write", dir+"/nowhere"), "ENOENT", ""},
		{try("write", dir+"/key"), "ENOENT", "fs write " + out + "/key"},
		{try("write", "key"), "ENOENT", "fs write " + out + "/key"},
		{try("write", dir+"/config"), "EACCES", "fs write " + dir + "/.env"},
		{try("read", dir+"/alias"), succeeded, ""},
		{try("read", dir+"/nowhere"), "ENOENT", ""},
		{try("read", dir+"/key"), "ENOENT", "fs read " + out + "/key"},
		{try("read", "key"), "ENOENT", "fs read " + out + "/key"},
		{try("read", "chain"), "ENOENT", "fs read " + out + "/key"},
		{try("read", dir+"/config"), "EACCES", "fs read " + dir + "/.env"},
		{try("read", out+"/key"), "ENOENT", ""},
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
