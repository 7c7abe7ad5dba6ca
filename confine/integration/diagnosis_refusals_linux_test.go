package integration

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// recorded are the refusals of a jail whose program made the attempts, by target.
func recorded(t *testing.T, p *policy.Profile, attempts ...attacker.Attempt) map[string]policy.Denial {
	t.Helper()
	s := jailtest.Begin(t, p, attempts...)
	s.Finish()
	found := map[string]policy.Denial{}
	for _, d := range s.Denials() {
		found[d.Target+string(d.Reason)] = d
	}
	return found
}

// TestJailRecordsAfterMissingNames: a server tries many names that exist nowhere. Later refusals
// are recorded all the same.
func TestJailRecordsAfterMissingNames(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/")
	const tried = 3000
	got := recorded(t, jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}), attacker.Try("creates", "/nowhere/#", strconv.Itoa(tried)), attacker.Try("create", dir+"/ws/.envrc"))
	testkit.Equal(t, fmt.Sprintf("not on record: %v", got), got[dir+"/ws/.envrc"].Count, 1)
	if d := got[policy.DenialOthers+"absent"]; d.Count < 1 || d.Count > tried-spec.MaxAbsents || len(got) != 2 {
		t.Errorf("beside it: %v", got)
	}
}

// TestJailRecordsEveryTime: refusals that repeat at once are counted, and so are those beyond
// the size of the record.
func TestJailRecordsEveryTime(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ro/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read})
	for n, want := range map[string]int{"4": 4, "3000": 3000} {
		if d := recorded(t, p, attacker.Try("creates", dir+"/ro/new", n))[dir+"/ro/new"]; d.Count != want || !d.Last.After(d.Time) {
			t.Errorf("%s times: %+v", n, d)
		}
	}
	got := recorded(t, p, attacker.Try("creates", dir+"/ro/#", strconv.Itoa(spec.MaxRefusals+500)))
	if d := got[policy.DenialOthers+"limit"]; d.Count != 500 || len(got) != spec.MaxRefusals+1 || got[dir+"/ro/0"].Count != 1 {
		t.Errorf("%d on record, the others are %+v", len(got), d)
	}
}

// TestJailRecordsSocketsOfAnyLength: where no host is granted, a refused connection to a UNIX socket is recorded also if its
// address is as long as one of IPv4 or IPv6.
func TestJailRecordsSocketsOfAnyLength(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.ShortDir(t)
	grants := []jailtest.Grant{{Path: dir, Rights: rw}}
	var attempts []attacker.Attempt
	lengths := []int{13, 20, 25} // an address is three bytes longer: the family, and a zero
	for _, length := range lengths {
		name := strings.Repeat("s", length)
		testkit.Accept(t, "unix", dir+"/"+name)
		grants = append(grants, jailtest.Grant{Path: dir + "/" + name})
		attempts = append(attempts, attacker.Try("dial", "unix", name))
	}
	p := jailtest.Profile(t, grants...)
	p.Dir = dir
	got := recorded(t, p, attempts...)
	for _, length := range lengths {
		if d := got[dir+"/"+strings.Repeat("s", length)]; d.Axis != policy.AxisIPC || d.Count != 1 {
			t.Errorf("%d bytes: not in %v", length, got)
		}
	}
}

// TestJailRecordsSocketsAndLinks: two refusals of the kernel are recorded: a socket of the host
// in a grant, and a link that leads out of a grant. What is granted is not recorded.
func TestJailRecordsSocketsAndLinks(t *testing.T) {
	jailtest.Needs(t)
	dir, out := testkit.ShortDir(t), testkit.ShortDir(t)
	testkit.Accept(t, "unix", dir+"/hidden")
	testkit.Accept(t, "unix", dir+"/named")
	for name, text := range map[string]string{out + "/key": "secret", dir + "/.env": "X=1", dir + "/plain": ""} {
		testkit.Must(t, errors.Join(os.WriteFile(name, []byte(text), 0o666), os.Chmod(name, 0o666)))
	}
	for name, target := range map[string]string{"key": out + "/key", "config": ".env", "chain": "key", "alias": "plain", "nowhere": "missing"} {
		testkit.Must(t, os.Symlink(target, dir+"/"+name))
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
		{attacker.Try("read", out+"/key"), "ENOENT", "fs read " + out + "/key"},
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
