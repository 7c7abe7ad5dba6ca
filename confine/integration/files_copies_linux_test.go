package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// userTree is a home directory of a user, with a workspace, a private HOME, and places that rules
// name.
var userTree = []string{
	"u/x", "u/hard = u/x", "u/link -> x", "u/dir/y", "u/dir/sub/z", "u/empty/", "u/.ssh/id", "u/bin/tool",
	"u/work/a", "u/work/.git/hooks/h", "u/work/kept/k", "u/state/hidden", "u/state/own/home/h", "u/data/d", "u/data/cow/c", "u/alone", "beside",
}

// copiesProfile is a profile with copies that are thrown away: the home directory, the workspace in it,
// a directory in what the server really writes, and a file. In the home, rules grant other places.
func copiesProfile(t testing.TB, u string) *policy.Profile {
	t.Helper()
	p := jailtest.Profile(t,
		jailtest.Grant{Path: u, Rights: policy.AllRights}, jailtest.Grant{Path: u + "/.ssh", Rights: 0}, jailtest.Grant{Path: u + "/bin", Rights: r | x},
		jailtest.Grant{Path: u + "/work", Rights: rw}, jailtest.Grant{Path: u + "/work/.git/hooks", Rights: r}, jailtest.Grant{Path: u + "/work/kept", Rights: rw},
		jailtest.Grant{Path: u + "/state", Rights: 0}, jailtest.Grant{Path: u + "/data", Rights: rw}, jailtest.Grant{Path: u + "/data/cow", Rights: rw},
		jailtest.Grant{Path: u + "/alone", Rights: rw})
	home := u + "/state/own/home"
	p.Entries = append(p.Entries, policy.Entry{Path: home, Named: home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Rule: "home", Make: true})
	p.Home, p.HomePrivate, p.Dir = home, true, u+"/work"
	for i := range p.Entries {
		e := &p.Entries[i]
		switch e.Path {
		case u, u + "/work", u + "/data/cow", u + "/alone":
			e.Ephemeral = true
		case u + "/work/.git/hooks":
			e.Origin = policy.OriginProtected
		case u + "/.ssh", u + "/state":
			e.Origin = policy.OriginSensitive
		}
	}
	jailtest.SortEntries(p)
	return p
}

func plantUser(t testing.TB) (u string) { return filepath.Join(testkit.Plant(t, userTree...), "u") }

func tries(dir string, texts ...string) (all []attacker.Attempt) {
	for _, text := range texts {
		a := attacker.Attempt(strings.Fields(text))
		for i := range a {
			a[i] = strings.ReplaceAll(a[i], "U/", dir+"/")
			if a[i] == "U" {
				a[i] = dir
			}
		}
		all = append(all, a)
	}
	return all
}

// TestCopies: what a server writes where a rule gives it a copy, it sees and the host does not. The
// places in it that other rules grant keep exactly their rights.
func TestCopies(t *testing.T) {
	needsCopies(t)
	u := plantUser(t)
	host := everything(t, filepath.Dir(u))
	p := copiesProfile(t, u)
	for _, c := range []struct{ attempt, want string }{
		{"rewrite U/x", "ok"}, {"rewrite U/hard", "ok"}, {"create U/new", "ok"}, {"mkdir U/newdir", "ok"}, {"unlink U/dir/y", "ok"}, {"rename U/dir/sub/z U/z", "ok"}, {"chmod U/x", "ok"}, {"utimes U/link", "ok"}, {"list U/dir/sub", "ok"},
		{"read U/.ssh/id", "EACCES"}, {"list U/.ssh", "EACCES"}, {"create U/.ssh/new", "EACCES"}, {"rename U/.ssh U/moved", "EBUSY"}, {"rmdir U/.ssh", "EBUSY"},
		{"read U/bin/tool", "ok"}, {"rewrite U/bin/tool", "EROFS"}, {"create U/bin/new", "EROFS"}, {"unlink U/bin/tool", "EROFS"}, {"rename U/bin U/moved", "EBUSY"},
		{"rewrite U/work/a", "ok"}, {"create U/work/new", "ok"}, {"create U/work/.git/hooks/new", "EROFS"}, {"rewrite U/work/.git/hooks/h", "EROFS"}, {"rename U/work/.git U/work/moved", "EBUSY"}, {"create U/work/.mcp.json", "EACCES"}, {"create U/.mcp.json", "EACCES"}, {"mkfile U/.vscode", "EACCES"},
		{"read U/state/hidden", "ENOENT"}, {"list U/state", "EACCES"}, {"rewrite U/alone", "ok"}, {"read U/alone", "ok"}, {"rewrite U/data/cow/c", "ok"}, {"create U/data/cow/new", "ok"},
		{"link U/x U/data/stolen", "EXDEV"}, {"rename U/x U/data/stolen", "EXDEV"}, {"link U/work/a U/data/stolen", "EXDEV"}, {"rename U/data/d U/stolen", "EXDEV"}, {"link U/data/d U/stolen", "EXDEV"}, {"exchange U/x U/data/d", "EXDEV"},
	} {
		got := jailtest.Attempts(t, p, tries(u, c.attempt)...)[0]
		outcome, _, _ := strings.Cut(got, " ")
		if outcome != c.want {
			t.Errorf("%s: %s, want %s", c.attempt, got, c.want)
		}
	}
	if now := everything(t, filepath.Dir(u)); now != host {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", host, now)
	}
	// In one process, what was written is there. A second process begins with what the host has.
	seen := tries(u, "rewrite U/x", "read U/x", "create U/work/new", "list U/work", "rewrite U/alone", "read U/alone", "unlink U/data/cow/c", "list U/data/cow")
	for range 2 {
		if got := fmt.Sprint(jailtest.Attempts(t, p, seen...)); !strings.HasPrefix(got, "[ok ok") || !strings.Contains(got, "a kept new") || strings.HasSuffix(got, " c]") {
			t.Errorf("%s", got)
		}
	}
	if now := everything(t, filepath.Dir(u)); now != host {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", host, now)
	}
	// The control: what rules really grant is written.
	for _, real := range []string{"/work/kept/new", "/data/new", "/state/own/home/new"} {
		jailtest.Expect(t, real, jailtest.Attempt(t, p, "create", u+real), "ok")
		if _, err := os.Stat(u + real); err != nil {
			t.Error(err)
		}
	}
	for i := range p.Entries {
		p.Entries[i].Ephemeral = false
	}
	host = everything(t, u)
	jailtest.Attempts(t, p, seen...)
	if everything(t, u) == host {
		t.Error("what is written without copies is nowhere")
	}
}

// TestCopiesHold: no way leads to the layer below.
func TestCopiesHold(t *testing.T) {
	needsCopies(t)
	u := plantUser(t)
	p := copiesProfile(t, u)
	host := everything(t, filepath.Dir(u))
	for _, c := range []struct{ attempt, want string }{
		{"handle U/x", "EPERM"}, {"handle U/work/a", "EPERM"}, {"umount U", "EPERM"}, {"umount U/work", "EPERM"}, {"bind U /tmp", "EPERM"}, {"remount U", "EPERM"}, {"clone-tree U", "EPERM"}, {"new-fs overlay", "EPERM"}, {"pick U", "EPERM"},
		{"setxattr U/x trusted.overlay.opaque", "EPERM"}, {"whiteout U/x U/new", "EPERM"}, {"mkdev U/new", "EPERM"}, {"setcap U/x", "EPERM"}, {"read U/../beside", "ENOENT"}, {"rewrite U/../beside", "ENOENT"},
		{"list /tmp", "ok"}, {"stat /tmp/lower0", "ENOENT"}, {"stat /tmp/upper0", "ENOENT"}, {"fds", "ok 0 1 2"}, {"swap-dir U/dir", "EXDEV"},
	} {
		jailtest.Expect(t, c.attempt, jailtest.Attempts(t, p, tries(u, c.attempt)...)[0], c.want)
	}
	// Its own list of mounts names the layers by paths that lead nowhere.
	script := `
fail() { echo "$@"; exit 1; }
grep -q lowerdir /proc/self/mountinfo || fail no overlay
for d in $(grep -o '[a-z]*dir=[^, ]*' /proc/self/mountinfo | cut -d= -f2); do test ! -e "$d" || fail "$d"; for f in /proc/*/root$d /proc/self/cwd/../..$d; do test ! -e "$f" || fail "$f"; done; done
echo changed > "$1/x" && mv "$1/work/a" "$1/work/b" && rm -r "$1/dir" && mkdir "$1/dir" && touch -d 2001-01-01 "$1/link" && chmod 000 "$1/hard" && ln -sf nowhere "$1/link" && test "$(cat "$1/x")" = changed
`
	runShell(t, p, script, u)
	if now := everything(t, filepath.Dir(u)); now != host {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", host, now)
	}
}

// runShell runs a script in a jail, and fails if the script does.
func runShell(t *testing.T, p *policy.Profile, script, argument string) {
	t.Helper()
	var out bytes.Buffer
	sh := *p
	sh.Program, sh.Argv = "/usr/bin/sh", []string{"sh", "-ec", script, "sh", argument}
	process, wait, err := jailtest.Start(t, confine.Launcher{}, &sh, &out, &out)
	if err != nil {
		t.Fatal(err)
	}
	exit, _ := process.Wait()
	wait()
	if exit != (confine.Exit{}) {
		t.Errorf("%+v: %s", exit, out.String())
	}
}

// TestCopiesAtAnyMoment: SIGKILL to a server that changes its copies leaves the host's tree as it was.
func TestCopiesAtAnyMoment(t *testing.T) {
	needsCopies(t)
	u := plantUser(t)
	p := copiesProfile(t, u)
	p.Program, p.Argv = "/usr/bin/sh", []string{"sh", "-c", `cd "$1"; while :; do echo more >> x; mv dir/y dir/w; mv dir/w dir/y; rm -f hard; ln x hard; rm -rf dir/sub; mkdir -p dir/sub; echo z > dir/sub/z; chmod 777 work work/a; echo a > work/a.tmp; mv work/a.tmp work/a; touch -d 2001-01-01 alone; echo x > alone; rm -f data/cow/c; echo c > data/cow/c; done`, "sh", u}
	host := everything(t, filepath.Dir(u))
	for i := range jailtest.Rounds(8, 100) {
		process, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*i) * time.Millisecond)
		process.Kill()
		process.Wait()
		if now := everything(t, filepath.Dir(u)); now != host {
			t.Fatalf("the host's tree has changed:\n%s\nto\n%s", host, now)
		}
	}
}

// TestCopiesAreBounded: the copies of a jail share one space, which counts as memory. A full one is
// recorded.
func TestCopiesAreBounded(t *testing.T) {
	needsCopies(t)
	for _, c := range []struct {
		first, second string
		mb            int
		want          string
	}{
		{"U", "U/work", 512, "[ok ok]"}, {"U", "U/work", 160, "[ok ENOSPC]"}, {"U/data/cow", "U", 160, "[ok ENOSPC]"},
	} {
		u := plantUser(t)
		p := copiesProfile(t, u)
		p.Limits = policy.Limits{MemoryMB: c.mb}
		s := jailtest.Begin(t, p, tries(u, "full "+c.first+" 45", "full "+c.second+" 45")...)
		s.Finish()
		if got := fmt.Sprintf("[%s]", strings.ReplaceAll(strings.Trim(s.Out.String(), "[]"), `","`, " ")); strings.ReplaceAll(got, `"`, "") != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if full := strings.Contains(fmt.Sprint(s.Denials()), "space in "+u); full != strings.Contains(c.want, "ENOSPC") {
			t.Errorf("%+v: %+v", c, s.Denials())
		}
	}
}

// readOnlyNotes returns the places that a plan says are read-only because they cannot be copied.
func readOnlyNotes(plan *confine.Plan, u string) (places []string) {
	for _, n := range plan.Notes {
		if rest, ok := strings.CutPrefix(n, "the server may not write to "+u); ok {
			place, _, _ := strings.Cut(rest, ":")
			places = append(places, "U"+place)
		}
	}
	return places
}

// TestCopiesRefused: where the kernel makes no overlay, the server may not write to what it would get a copy
// of, and the plan names the place. The other places are as before, and a single file is copied without one.
func TestCopiesRefused(t *testing.T) {
	jailtest.Needs(t)
	l := refuseOverlay(t)
	for _, first := range []string{"Start", "Compile"} {
		u := plantUser(t)
		p := copiesProfile(t, u)
		host := everything(t, filepath.Dir(u))
		const all = "[U U/data/cow U/work]"
		if first == "Compile" {
			plan, err := l.Compile(p)
			if err != nil || fmt.Sprint(readOnlyNotes(plan, u)) != all {
				t.Errorf("%v, %q", err, plan.Notes)
			}
		}
		s := jailtest.BeginBy(t, l, p, tries(u, "read U/x", "rewrite U/x", "create U/new", "create U/work/new", "rewrite U/alone", "create U/data/cow/new", "read U/.ssh/id", "rename U/x U/data/x")...)
		s.Finish()
		if got := s.Out.String(); got != `["ok x","EROFS","EROFS","EROFS","ok","EROFS","EACCES","EXDEV"]` {
			t.Errorf("%s: %s", first, got)
		}
		if got := fmt.Sprint(readOnlyNotes(s.Plan(), u)); got != all {
			t.Errorf("%s: %s, %q", first, got, s.Plan().Notes)
		}
		if e, _ := s.Plan().Profile.Find(u); e.Rights != r|x || e.Ephemeral {
			t.Errorf("%s: the plan's profile has %v", first, e)
		}
		if now := everything(t, filepath.Dir(u)); now != host {
			t.Errorf("the host's tree has changed:\n%s\nto\n%s", host, now)
		}
		jailtest.Expect(t, "a real grant", jailtest.Attempt(t, p, "create", u+"/data/new"), "ok")
	}
}

// TestCopiesOverMounts: the kernel makes no overlay of a directory in which another filesystem is mounted.
// That directory alone is then read-only, with what is mounted there.
func TestCopiesOverMounts(t *testing.T) {
	needsCopies(t)
	if inMounts(t, "") {
		return
	}
	u := plantUser(t)
	p := copiesProfile(t, u)
	if err := errors.Join(unix.Mount("none", u+"/dir/sub", "tmpfs", 0, ""), os.WriteFile(u+"/dir/sub/mounted", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(u+"/dir/sub", unix.MNT_DETACH) })
	s := jailtest.BeginBy(t, confine.Launcher{}, p, tries(u, "create U/new", "list U/dir/sub", "create U/dir/sub/new", "create U/work/new", "create U/data/cow/new", "rewrite U/alone")...)
	s.Finish()
	if got := s.Out.String(); got != `["EROFS","ok mounted","EROFS","ok","ok","ok"]` {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprint(readOnlyNotes(s.Plan(), u)); got != "[U]" {
		t.Errorf("%s, %q", got, s.Plan().Notes)
	}
	if names, _ := filepath.Glob(u + "/*/new"); names != nil {
		t.Errorf("%q", names)
	}
}

// TestHostNSCopies: without mounts there are no copies, so the server may not write.
func TestHostNSCopies(t *testing.T) {
	jailtest.NeedsHostNS(t)
	u := plantUser(t)
	p := copiesProfile(t, u)
	jailtest.Expect(t, "reading", jailtest.AttemptsHostNS(t, p, tries(u, "read U/x")...)[0], "ok x")
	host := everything(t, u)
	got := fmt.Sprint(jailtest.AttemptsHostNS(t, p, tries(u, "list U/dir", "rewrite U/x", "create U/new", "create U/work/new", "rewrite U/alone", "chmod U/x")...))
	if got != "[ok sub y EACCES EACCES EACCES EACCES EACCES]" {
		t.Errorf("%s", got)
	}
	if now := everything(t, u); now != host {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", host, now)
	}
	jailtest.Expect(t, "the control", jailtest.AttemptsHostNS(t, p, tries(u, "create U/data/new")...)[0], "ok")
	plan, _ := jailtest.WaivesGaps.Compile(p)
	if got := readOnlyNotes(plan, u); !slices.Contains(got, "U/work") {
		t.Errorf("%q", plan.Notes)
	}
}

// TestCopiesInRoot: the jail of a session that learns. Everything can be read and executed but what is
// sensitive, the home directory is a copy, the private HOME in it is real, or is a copy too.
func TestCopiesInRoot(t *testing.T) {
	needsCopies(t)
	for _, ephemeral := range []bool{false, true} {
		u := plantUser(t)
		p := copiesProfile(t, u)
		root := jailtest.Entry(t, jailtest.Grant{Path: "/", Rights: r | x})
		p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return !policy.Within(e.Path, u) })
		p.Entries, p.Links = append(p.Entries, root), nil
		for i := range p.Entries {
			if p.Entries[i].Origin == policy.OriginHome {
				p.Entries[i].Ephemeral = ephemeral
			}
		}
		jailtest.SortEntries(p)
		host := everything(t, filepath.Dir(u))
		s := jailtest.BeginBy(t, confine.Launcher{}, p, tries(u, "rewrite U/x", "read U/x", "create U/new", "read U/.ssh/id", "rewrite U/work/a", "rewrite U/bin/tool", "create U/work/.mcp.json", "rewrite U/../beside", "create /etc/new", "read /etc/passwd", "list /tmp", "create /tmp/new")...)
		s.Finish()
		var got []string
		for _, o := range jailtest.Outcomes(t, make([]attacker.Attempt, 12), s.Out.Bytes(), "in the root") {
			outcome, _, _ := strings.Cut(o, " ")
			got = append(got, outcome)
		}
		if want := "[ok ok ok EACCES ok EROFS EACCES EROFS EROFS ok ok ok]"; fmt.Sprint(got) != want {
			t.Errorf("ephemeral %v: %s, want %s", ephemeral, got, want)
		}
		if now := everything(t, filepath.Dir(u)); now != host {
			t.Errorf("the host's tree has changed:\n%s\nto\n%s", host, now)
		}
		if notes := readOnlyNotes(s.Plan(), u); notes != nil {
			t.Errorf("%q", notes)
		}
		jailtest.Expect(t, "the private HOME", jailtest.Attempt(t, p, "create", u+"/state/own/home/new"), "ok")
		if _, err := os.Stat(u + "/state/own/home/new"); (err == nil) == ephemeral {
			t.Errorf("the private HOME, ephemeral %v: %v", ephemeral, err)
		}
	}
}
