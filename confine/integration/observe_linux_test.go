package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// observations collects what Launcher.Observe reports.
type observations struct {
	mu  sync.Mutex
	all []policy.Observation
}

func (o *observations) add(one policy.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, one)
}

// told returns the observations that are about a path in dir, in their order, without dir. An
// observation that the jail refused ends with "refused".
func (o *observations) told(dir string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for _, one := range o.all {
		if !policy.Within(one.Target, dir) {
			continue
		}
		line := one.Operation + " ." + strings.TrimPrefix(one.Target, dir)
		for _, word := range []struct {
			text string
			set  bool
		}{{" dir", one.Dir}, {" absent", one.Absent}, {" discarded", one.Discarded}, {" refused", one.Refused}, {fmt.Sprint(" ", one.Count, " times"), one.Count != 1}} {
			if word.set {
				line += word.text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// watchTree is a tree of which ws is granted, ro to be read, and shut not at all.
func watchTree(t *testing.T) (dir string, p *policy.Profile) {
	dir = testkit.Plant(t, "ws/file", "ws/old", "ws/gone", "ws/empty/", "ws/shut/key", "ro/file", "out/key", "out/dir/key")
	for name, target := range map[string]string{"ws/alias": "file", "ws/astray": dir + "/out/key", "ws/lost": dir + "/out/none", "ws/dir": dir + "/out/dir", "ws/hidden": "shut/key"} {
		if err := os.Symlink(target, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	p = jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/shut"}, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read})
	p.Dir = dir + "/ws"
	return dir, p
}

// reads are opens that only read, with what came of them in a jail with mounts, and with what the jail
// recorded.
func reads(dir string) []watched {
	return []watched{
		{attacker.Try("read", dir+"/ws/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("read", "file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("read", dir+"/ws/alias"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("read", "empty/../../ws//./file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("path-read", dir+"/ws/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("path-reopen", dir+"/ws/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("read", "/proc/self/cwd/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("read", "/proc/self/root"+dir+"/ws/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("list", dir+"/ws/empty"), attacker.Succeeded, "list ./ws/empty dir", ""},
		{attacker.Try("chdir-list", dir+"/ws/empty"), attacker.Succeeded, "list ./ws/empty dir", ""},
		{attacker.Try("read", dir+"/ws/none"), "ENOENT", "read ./ws/none absent", ""},
		{attacker.Try("read", dir+"/ws/none/none"), "ENOENT", "read ./ws/none/none absent", ""},
		{attacker.Try("read", dir+"/ro/file"), attacker.Succeeded, "read ./ro/file", ""},
		{attacker.Try("read", dir+"/ws/file/none"), "ENOTDIR", "", ""},
		{attacker.Try("stat", dir+"/ws/file"), attacker.Succeeded, "", ""},
		{attacker.Try("read", dir+"/out/key"), "ENOENT", "read ./out/key refused", "read ./out/key"},
		{attacker.Try("read", "../out/key"), "ENOENT", "read ./out/key refused", "read ./out/key"},
		{attacker.Try("read", dir+"/out/none"), "ENOENT", "read ./out/none absent", ""},
		{attacker.Try("list", dir+"/out"), "ENOENT", "read ./out refused", "read ./out"},
		{attacker.Try("list", dir), "EACCES", "list . dir refused", "list ."},
		{attacker.Try("read", "astray"), "ENOENT", "read ./out/key refused", "read ./out/key"},
		{attacker.Try("read", "lost"), "ENOENT", "read ./out/none absent", ""},
		{attacker.Try("read", "dir/key"), "ENOENT", "read ./out/dir/key refused", "read ./out/dir/key"},
		{attacker.Try("read", dir+"/ws/shut/key"), "EACCES", "read ./ws/shut/key refused", "read ./ws/shut/key"},
		{attacker.Try("read", "hidden"), "EACCES", "read ./ws/shut/key refused", "read ./ws/shut/key"},
		{attacker.Try("list", dir+"/ws/shut"), "EACCES", "list ./ws/shut dir refused", "list ./ws/shut"},
	}
}

type watched struct {
	try          attacker.Attempt
	want         string // what came of it
	told, denied string
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

// watch makes an attempt in a jail, and compares what came of it and what is on record.
func (c watched) watch(t *testing.T, l confine.Launcher, p *policy.Profile, dir string) {
	t.Helper()
	var seen observations
	if l.Observe = seen.add; l.CertainReads {
		l.Observe = nil
	}
	s := jailtest.BeginBy(t, l, p, c.try)
	s.Finish()
	got, _, _ := strings.Cut(jailtest.Outcomes(t, []attacker.Attempt{c.try}, s.Out.Bytes(), s.Errs.Text)[0], " ")
	if denied := deniedIn(s.Denials(), dir); got != c.want || denied != c.denied {
		t.Errorf("%v: %s, denied %q, want %s, %q", c.try, got, denied, c.want, c.denied)
	}
	if told := seen.told(dir); !l.CertainReads && told != c.told {
		t.Errorf("%v: %q, want %q", c.try, told, c.told)
	}
}

// TestWatchedReads: every open that only reads is observed with the path to which it leads, and
// the refused ones are denials. With certain reads they are denials, and nothing else is told.
// Without either, none is.
func TestWatchedReads(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := watchTree(t)
	for _, c := range reads(dir) {
		c.watch(t, confine.Launcher{}, p, dir)
		c.watch(t, confine.Launcher{CertainReads: true}, p, dir)
		if got := deniedIn(deniedUnwatched(t, p, c.try), dir); got != "" {
			t.Errorf("%v, not watched: %s", c.try, got)
		}
	}
}

func deniedUnwatched(t *testing.T, p *policy.Profile, try attacker.Attempt) []policy.Denial {
	t.Helper()
	s := jailtest.Begin(t, p, try)
	s.Finish()
	return s.Denials()
}

// TestWatchedChanges: what is written, made, moved and removed is observed, granted or refused. A jail
// that is not watched records the same refusals.
func TestWatchedChanges(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	for _, c := range changes {
		dir, p := watchTree(t)
		c.in(dir).watch(t, confine.Launcher{}, p, dir)
		dir, p = watchTree(t)
		if got := deniedIn(deniedUnwatched(t, p, c.in(dir).try), dir); got != c.denied {
			t.Errorf("%v, not watched: %q, want %q", c.try, got, c.denied)
		}
	}
}

// changes have DIR for the directory of the tree.
var changes = []watched{
	{attacker.Try("write", "DIR/ws/file"), attacker.Succeeded, "write ./ws/file", ""},
	{attacker.Try("write", "alias"), attacker.Succeeded, "write ./ws/file", ""},
	{attacker.Try("create", "DIR/ws/new"), attacker.Succeeded, "create ./ws/new", ""},
	{attacker.Try("creating", "DIR/ws/file"), attacker.Succeeded, "write ./ws/file", ""},
	{attacker.Try("truncate", "DIR/ws/file"), attacker.Succeeded, "write ./ws/file", ""},
	{attacker.Try("open-truncate", "DIR/ws/file"), attacker.Succeeded, "truncate ./ws/file, read ./ws/file", ""},
	{attacker.Try("mkdir", "DIR/ws/new"), attacker.Succeeded, "mkdir ./ws/new dir", ""},
	{attacker.Try("mkfifo", "DIR/ws/new"), attacker.Succeeded, "create ./ws/new", ""},
	{attacker.Try("symlink", "DIR/ws/new"), attacker.Succeeded, "create ./ws/new", ""},
	{attacker.Try("link", "DIR/ws/file", "DIR/ws/new"), attacker.Succeeded, "create ./ws/new", ""},
	{attacker.Try("tmpfile", "DIR/ws/new"), attacker.Succeeded, "create ./ws dir, create ./ws/new", ""},
	{attacker.Try("unlink", "DIR/ws/gone"), attacker.Succeeded, "remove ./ws/gone", ""},
	{attacker.Try("rmdir", "DIR/ws/empty"), attacker.Succeeded, "remove ./ws/empty dir", ""},
	{attacker.Try("rename", "DIR/ws/gone", "DIR/ws/new"), attacker.Succeeded, "remove ./ws/gone, create ./ws/new", ""},
	{attacker.Try("rename", "DIR/ws/empty", "DIR/ws/new"), attacker.Succeeded, "remove ./ws/empty dir, create ./ws/new dir", ""},
	{attacker.Try("exchange", "DIR/ws/gone", "DIR/ws/old"), attacker.Succeeded, "remove ./ws/gone, create ./ws/old, remove ./ws/old, create ./ws/gone", ""},
	{attacker.Try("unlink", "DIR/ws/none"), "ENOENT", "", ""},
	{attacker.Try("write", "DIR/ro/file"), "EROFS", "write ./ro/file refused", "write ./ro/file"},
	{attacker.Try("create", "DIR/ro/new"), "EROFS", "create ./ro/new refused", "create ./ro/new"},
	{attacker.Try("mkdir", "DIR/ro/new"), "EROFS", "mkdir ./ro/new dir refused", "mkdir ./ro/new"},
	{attacker.Try("create", "DIR/ws/.envrc"), "EACCES", "create ./ws/.envrc refused", "create ./ws/.envrc"},
	{attacker.Try("create", "DIR/ws/shut/new"), "EACCES", "create ./ws/shut/new refused", "create ./ws/shut/new"},
	{attacker.Try("write", "DIR/ws/shut/key"), "EACCES", "write ./ws/shut/key refused", "write ./ws/shut/key"},
	{attacker.Try("mkdir", "DIR/ws/shut/new"), "EACCES", "mkdir ./ws/shut/new dir refused", "mkdir ./ws/shut/new"},
	{attacker.Try("unlink", "DIR/ws/shut/key"), "EACCES", "remove ./ws/shut/key refused", "remove ./ws/shut/key"},
	{attacker.Try("create", "DIR/out/new"), "ENOENT", "create ./out/new absent refused", "create ./out/new"},
	{attacker.Try("create", "DIR/none/new"), "ENOENT", "create ./none/new absent", ""},
}

func (c watched) in(dir string) watched {
	c.try = slices.Clone(c.try)
	for i := range c.try {
		c.try[i] = strings.Replace(c.try[i], "DIR", dir, 1)
	}
	return c
}

// TestWatchedPrograms: the start of a program is observed with its arguments, and so is a
// connection to a socket of the host.
func TestWatchedPrograms(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.ShortDir(t)
	testkit.Accept(t, "unix", dir+"/named")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/named", Rights: rw})
	var seen observations
	s := jailtest.BeginBy(t, confine.Launcher{Observe: seen.add}, p,
		attacker.Try("exec", "/usr/bin/echo", "a b", "", "c"), attacker.Try("dial", "unix", dir+"/named"), attacker.Try("dial", "unix", dir+"/none"))
	s.Finish()
	if got := seen.told(dir); got != "connect ./named, connect ./none absent" {
		t.Errorf("sockets: %s", got)
	}
	for _, o := range seen.all {
		if o.Target == "/usr/bin/echo" && o.Operation == "execute" && o.Axis == policy.AxisProcess && slices.Equal(o.Arguments, []string{"/usr/bin/echo", "a b", "", "c"}) && o.Program == jailtest.Binary && o.PID > 0 {
			return
		}
	}
	t.Errorf("%+v", seen.all)
}

// TestWatchedAfresh: equal observations are reported once, and their number when the launcher
// begins afresh or the program ends. After that they are reported again.
func TestWatchedAfresh(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := watchTree(t)
	file := dir + "/ws/file"
	var seen observations
	s := jailtest.BeginBy(t, confine.Launcher{Observe: seen.add}, p,
		attacker.Try("read", file), attacker.Try("read", file), attacker.Try("read", file), attacker.Try("create", dir+"/ws/ready"),
		attacker.Try("await", dir+"/ws/go"), attacker.Try("read", file), attacker.Try("read", file))
	testkit.Eventually(t, "the first half is over", func() bool { _, err := os.Stat(dir + "/ws/ready"); return err == nil })
	if err := s.ObserveAfresh(); err != nil {
		t.Fatal(err)
	}
	if got := seen.told(file); got != "read ., read . 2 times" {
		t.Errorf("before: %s", got)
	}
	seen.all = nil
	if err := os.WriteFile(dir+"/ws/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Finish()
	if got := seen.told(file); got != "read ., read ." {
		t.Errorf("after: %s", got)
	}
	if err := s.ObserveAfresh(); err == nil {
		t.Error("after the end: no error")
	}
}

// TestWatchedFlood: a server that touches more names than are told apart is told of in sums, and
// the memory of its supervisor stays bounded.
func TestWatchedFlood(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := watchTree(t)
	const made, dirs = 3000, 10000
	var seen observations
	s := jailtest.BeginBy(t, confine.Launcher{Observe: seen.add}, p, attacker.Try("reads", dir+"/ws/#", fmt.Sprint(made)), attacker.Try("reads", dir+"/ws/empty/#", "3"),
		attacker.Try("reads", dir+"/ws/#/x", fmt.Sprint(dirs)), attacker.Try("write", dir+"/ws/file"))
	s.Finish()
	single, crowd, deep, others := 0, 0, 0, 0
	for _, o := range seen.all {
		switch {
		case o.Target == policy.DenialOthers:
			others += o.Count
		case o.Operation != "read" || !policy.Within(o.Target, dir+"/ws"):
		case o.Target == dir+"/ws" && o.Dir:
			crowd += o.Count
		case strings.HasSuffix(o.Target, "/x"):
			deep += o.Count
		case !policy.Within(o.Target, dir+"/ws/empty"):
			single += o.Count
		}
	}
	if single != spec.MaxSightedIn || single+crowd != made {
		t.Errorf("%d one by one, %d in a sum, of %d", single, crowd, made)
	}
	if deep > spec.MaxSighted || deep < spec.MaxSighted/2 || deep+others != dirs+1 {
		t.Errorf("%d one by one, %d in a sum, of %d and one", deep, others, dirs)
	}
	if got := seen.told(dir + "/ws/empty"); got != "read ./0 absent, read ./1 absent, read ./2 absent" {
		t.Errorf("beside it: %s", got)
	}
}

// TestHostNSWatched: the same without namespaces, where the supervisor opens what is read.
func TestHostNSWatched(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir, p := watchTree(t)
	for _, c := range []watched{
		{attacker.Try("read", dir+"/ws/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("read", "alias"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("path-reopen", dir+"/ws/file"), attacker.Succeeded, "read ./ws/file", ""},
		{attacker.Try("list", dir+"/ws/empty"), attacker.Succeeded, "list ./ws/empty dir", ""},
		{attacker.Try("read", dir+"/ws/none"), "ENOENT", "read ./ws/none absent", ""},
		{attacker.Try("read", dir+"/out/key"), "EACCES", "read ./out/key refused", "read ./out/key"},
		{attacker.Try("read", "astray"), "EACCES", "read ./out/key refused", "read ./out/key"},
		{attacker.Try("read", dir+"/out/none"), "ENOENT", "read ./out/none absent", ""},
		{attacker.Try("read", dir+"/ws/shut/key"), "EACCES", "read ./ws/shut/key refused", "read ./ws/shut/key"},
		{attacker.Try("write", dir+"/ws/file"), attacker.Succeeded, "write ./ws/file", ""},
		{attacker.Try("create", dir+"/ws/new"), attacker.Succeeded, "create ./ws/new", ""},
		{attacker.Try("rename", dir+"/ws/gone", dir+"/ws/newer"), attacker.Succeeded, "remove ./ws/gone, create ./ws/newer", ""},
		{attacker.Try("write", dir+"/ro/file"), "EACCES", "write ./ro/file refused", "write ./ro/file"},
	} {
		c.watch(t, jailtest.WaivesGaps, p, dir)
		if c.try[0] != "create" && c.try[0] != "rename" {
			certain := jailtest.WaivesGaps
			certain.CertainReads = true
			c.watch(t, certain, p, dir)
		}
	}
}

// TestWatchedNeedsMediation: a start that is to be watched and cannot be is refused.
func TestWatchedNeedsMediation(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	p := jailtest.Profile(t)
	for _, l := range []confine.Launcher{{Unmediated: true, CertainReads: true}, {Unmediated: true, Observe: func(policy.Observation) {}}} {
		_, err := l.Start(t.Context(), p, confine.Stdio{})
		if err == nil || !strings.Contains(err.Error(), "watch what the server does") {
			t.Errorf("%v", err)
		}
	}
}
