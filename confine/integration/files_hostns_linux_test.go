package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestHostNSCreateWithoutUpdate: with create and without update a program can make a file and
// fill it, but not write to it later. TMPDIR gives no such right.
func TestHostNSCreateWithoutUpdate(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, "drop/old")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/drop", Rights: r | policy.Create})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	got := jailtest.AttemptsHostNS(t, p, attacker.Try("fill", dir+"/drop/new", "1"), attacker.Try("write", dir+"/drop/new"), attacker.Try("write", dir+"/drop/old"), attacker.Try("unlink", dir+"/drop/old"), attacker.Try("tmp"))
	got[4], _, _ = strings.Cut(got[4], " ")
	testkit.Equal(t, "", fmt.Sprint(got), "[ok EACCES EACCES EACCES ok]")
}

// TestHostNSUmask: TMPDIR can be used with any umask.
func TestHostNSUmask(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testUmask(t, jailtest.WaivesGaps.Waive)
}

// TestHostNSTrees: a file that a server may make in its private directories does not get into a
// grant by being moved there.
func TestHostNSTrees(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, "home/repo/.git/config", "home/repo/src/x", "home/plain/src/x", "work/f", "work/d/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/work", Rights: rw}, jailtest.Grant{Path: dir + "/home", Rights: rw})
	for i := range p.Entries {
		if p.Entries[i].Path == dir+"/home" {
			p.Entries[i].Origin = policy.OriginHome
		}
	}
	got := jailtest.AttemptsHostNS(t, p, attacker.Try("rename", dir+"/home/repo", dir+"/work/repo"), attacker.Try("exchange", dir+"/home/repo", dir+"/work/d"),
		attacker.Try("exchange", dir+"/work/d", dir+"/home/repo"), attacker.Try("create", dir+"/home/.envrc"), attacker.Try("rename", dir+"/home/plain", dir+"/work/plain"))
	want := []attacker.Outcome{"EACCES", "EACCES", "EACCES", "ok", "ok"}
	testkit.Equal(t, "", got, want)
}

// TestHostNSRightsOfMovedFiles: a file gets no right by a name elsewhere that a narrower entry
// took from it. For Landlock the wider entry is around both.
func TestHostNSRightsOfMovedFiles(t *testing.T) {
	jailtest.NeedsHostNS(t)
	profile := func(dir string) *policy.Profile {
		return jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/drop", Rights: policy.Write})
	}
	(fileTable{[]string{"file", "sub/file", "drop/file", "drop/other"}, profile, jailtest.AttemptsHostNS}).check(t, "rights-of-moved-files.txt")
}

// TestHostNSAttributeResults: the supervisor changes modes, owners and times for the server with
// the results that the kernel would give.
func TestHostNSAttributeResults(t *testing.T) {
	jailtest.NeedsHostNS(t)
	tree := []string{"f", "d/e", "l -> f", "dangling -> none", "loop1 -> loop2", "loop2 -> loop1", "dl -> d"}
	changes := func(in string) attacker.Attempt {
		if attacker.ChangeMode(-1, "", 0, 0) == unix.ENOSYS {
			return attacker.Try("changes-attributes", in, "older")
		}
		return attacker.Try("changes-attributes", in)
	}
	in := testkit.Plant(t, tree...)
	want := strings.Split(jailtest.Unconfined(t, "/", changes(in))[0], ";")
	in = testkit.Plant(t, tree...)
	got := strings.Split(jailtest.AttemptsHostNS(t, jailtest.Profile(t, jailtest.Grant{Path: in, Rights: rw}), changes(in))[0], ";")
	if !strings.HasPrefix(want[0], "ok ") || len(want) < 100 || len(got) != len(want) {
		t.Fatalf("%d results and %d in the jail: %s", len(want), len(got), want)
	}
	for i := range want {
		testkit.Equal(t, "in the jail, and unconfined", got[i], want[i])
	}
	// A file of the host's that has a name like one that has none any more.
	other := testkit.Plant(t) + "/kept (deleted)"
	plantInto(t, other)
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("chmod", other))[0], "ok")
	jailtest.Expect(t, "in the jail", jailtest.AttemptsHostNS(t, jailtest.Profile(t, jailtest.Grant{Path: in, Rights: rw}), attacker.Try("chmod", other))[0], "EACCES")
}
