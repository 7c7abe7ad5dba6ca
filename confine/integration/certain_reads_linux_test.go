package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// readTree is a tree of which ws is granted, ro to be read, and shut not at all.
func readTree(t *testing.T) (dir string, p *policy.Profile) {
	dir = testkit.Plant(t, "ws/file", "ws/old", "ws/gone", "ws/empty/", "ws/shut/key", "ro/file", "out/key", "out/dir/key")
	for name, target := range map[string]string{"ws/alias": "file", "ws/astray": dir + "/out/key", "ws/lost": dir + "/out/none", "ws/dir": dir + "/out/dir", "ws/hidden": "shut/key"} {
		testkit.Must(t, os.Symlink(target, dir+"/"+name))
	}
	p = jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/shut"}, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read})
	p.Dir = dir + "/ws"
	return dir, p
}

// triedRead is an attempt, with what comes of it and what the jail records of it.
type triedRead struct {
	try          attacker.Attempt
	want, denied string
}

// reads are opens that only read, in a jail with mounts.
func reads(dir string) []triedRead {
	return []triedRead{
		{attacker.Try("read", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("read", "file"), attacker.Succeeded, ""},
		{attacker.Try("read", dir+"/ws/alias"), attacker.Succeeded, ""},
		{attacker.Try("read", "empty/../../ws//./file"), attacker.Succeeded, ""},
		{attacker.Try("path-read", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("path-reopen", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("read", "/proc/self/cwd/file"), attacker.Succeeded, ""},
		{attacker.Try("read", "/proc/self/root"+dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("list", dir+"/ws/empty"), attacker.Succeeded, ""},
		{attacker.Try("chdir-list", dir+"/ws/empty"), attacker.Succeeded, ""},
		{attacker.Try("read", dir+"/ws/none"), "ENOENT", ""},
		{attacker.Try("read", dir+"/ws/none/none"), "ENOENT", ""},
		{attacker.Try("read", dir+"/ro/file"), attacker.Succeeded, ""},
		{attacker.Try("read", dir+"/ws/file/none"), "ENOTDIR", ""},
		{attacker.Try("stat", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("read", dir+"/out/key"), "ENOENT", "read ./out/key"},
		{attacker.Try("read", "../out/key"), "ENOENT", "read ./out/key"},
		{attacker.Try("stat", dir+"/out/key"), "ENOENT", "read ./out/key"},
		{attacker.Try("stat", dir+"/out/none"), "ENOENT", ""},
		{attacker.Try("stat", dir+"/ws/none"), "ENOENT", ""},
		{attacker.Try("stat", dir), attacker.Succeeded, ""},
		{attacker.Try("stat", dir+"/ws/shut/key"), "EACCES", ""},
		{attacker.Try("read", dir+"/out/none"), "ENOENT", ""},
		{attacker.Try("list", dir+"/out"), "ENOENT", "read ./out"},
		{attacker.Try("list", dir), "EACCES", "list ."},
		{attacker.Try("read", "astray"), "ENOENT", "read ./out/key"},
		{attacker.Try("read", "lost"), "ENOENT", ""},
		{attacker.Try("read", "dir/key"), "ENOENT", "read ./out/dir/key"},
		{attacker.Try("read", dir+"/ws/shut/key"), "EACCES", "read ./ws/shut/key"},
		{attacker.Try("read", "hidden"), "EACCES", "read ./ws/shut/key"},
		{attacker.Try("list", dir+"/ws/shut"), "EACCES", "list ./ws/shut"},
	}
}

// deniedIn returns the denials about a path in dir, without dir.
func deniedIn(denials []policy.Denial, dir string) string {
	var lines []string
	for _, d := range denials {
		if policy.Within(d.Target, dir) {
			lines = append(lines, d.Operation+" ."+strings.TrimPrefix(d.Target, dir))
		}
	}
	return strings.Join(lines, ", ")
}

// check makes the attempt in a jail, and compares what came of it and what is on record.
func (c triedRead) check(t *testing.T, l confine.Launcher, p *policy.Profile, dir string) {
	t.Helper()
	s := jailtest.BeginBy(t, l, p, c.try)
	s.Finish()
	got, _, _ := strings.Cut(jailtest.Outcomes(t, []attacker.Attempt{c.try}, s.Out.Bytes(), s.Errs.Text)[0], " ")
	if denied := deniedIn(s.Denials(), dir); got != c.want || denied != c.denied {
		t.Errorf("%v: %s, denied %q, want %s, %q", c.try, got, denied, c.want, c.denied)
	}
}

// TestCertainReads: with certain reads, every open that only reads and is refused is on record, with the path
// to which it leads. Without, none is.
func TestCertainReads(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := readTree(t)
	for _, c := range reads(dir) {
		c.check(t, confine.Launcher{CertainReads: true}, p, dir)
		c.denied = ""
		c.check(t, confine.Launcher{}, p, dir)
	}
}

// TestRefusedChanges: refused changes are on record, with certain reads and without.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := readTree(t)
	for _, c := range []triedRead{
		{attacker.Try("write", dir+"/ro/file"), "EROFS", "write ./ro/file"},
		{attacker.Try("create", dir+"/ro/new"), "EROFS", "create ./ro/new"},
		{attacker.Try("mkdir", dir+"/ro/new"), "EROFS", "mkdir ./ro/new"},
		{attacker.Try("create", dir+"/ws/.envrc"), "EACCES", "create ./ws/.envrc"},
		{attacker.Try("create", dir+"/ws/shut/new"), "EACCES", "create ./ws/shut/new"},
		{attacker.Try("write", dir+"/ws/shut/key"), "EACCES", "write ./ws/shut/key"},
		{attacker.Try("mkdir", dir+"/ws/shut/new"), "EACCES", "mkdir ./ws/shut/new"},
		{attacker.Try("unlink", dir+"/ws/shut/key"), "EACCES", "remove ./ws/shut/key"},
		{attacker.Try("create", dir+"/out/new"), "ENOENT", "create ./out/new"},
	} {
		c.check(t, confine.Launcher{CertainReads: true}, p, dir)
		c.check(t, confine.Launcher{}, p, dir)
	}
}

// TestHostNSCertainReads: the same without namespaces, where the supervisor opens what is read.
func TestHostNSCertainReads(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir, p := readTree(t)
	certain := jailtest.WaivesGaps
	certain.CertainReads = true
	for _, c := range []triedRead{
		{attacker.Try("read", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("read", "alias"), attacker.Succeeded, ""},
		{attacker.Try("path-reopen", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("list", dir+"/ws/empty"), attacker.Succeeded, ""},
		{attacker.Try("read", dir+"/ws/none"), "ENOENT", ""},
		{attacker.Try("read", dir+"/out/key"), "EACCES", "read ./out/key"},
		{attacker.Try("read", "astray"), "EACCES", "read ./out/key"},
		{attacker.Try("read", dir+"/out/none"), "ENOENT", ""},
		{attacker.Try("read", dir+"/ws/shut/key"), "EACCES", "read ./ws/shut/key"},
		{attacker.Try("write", dir+"/ws/file"), attacker.Succeeded, ""},
		{attacker.Try("write", dir+"/ro/file"), "EACCES", "write ./ro/file"},
	} {
		c.check(t, certain, p, dir)
	}
}

// TestCertainReadsNeedMediation: a start that is to record refused reads and cannot is refused.
func TestCertainReadsNeedMediation(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	_, err := confine.Launcher{Once: true, CertainReads: true}.Start(t.Context(), jailtest.Profile(t), confine.Stdio{})
	testkit.Fails(t, "", err, "record each refused read")
}
