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

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailHomeRules: a path inside HOME that a rule names is the host's, with the rights of
// the rule. The directories on the way to it are not.
func TestJailHomeRules(t *testing.T) {
	needsCopies(t)
	home := plantHome(t)
	testkit.PlantBelow(t, home, "a/b/c/ro", "a/masked/m", "a/other", "shared/s")
	p := homeProfile(t, home, jailtest.Grant{Path: home + "/a/b/c", Rights: r | x}, jailtest.Grant{Path: home + "/a/masked", Rights: 0}, jailtest.Grant{Path: home + "/shared", Rights: policy.AllRights})
	host := everything(t, home)
	got := jailtest.Attempts(t, p,
		attacker.Try("read", home+"/a/b/c/ro"), attacker.Try("rewrite", home+"/a/b/c/ro"), attacker.Try("create", home+"/a/b/c/new"), attacker.Try("unlink", home+"/a/b/c/ro"),
		attacker.Try("read", home+"/a/masked/m"), attacker.Try("list", home+"/a/masked"),
		attacker.Try("rename", home+"/a", home+"/moved"), attacker.Try("rename", home+"/a/b", home+"/a/moved"), attacker.Try("rename", home+"/a/masked", home+"/a/moved"), attacker.Try("rmdir", home+"/a/masked"),
		attacker.Try("create", home+"/a/new"), attacker.Try("rewrite", home+"/a/other"), attacker.Try("create", home+"/a/b/new"), attacker.Try("list", home+"/a/b"), attacker.Try("unlink", home+"/a/other"))
	if want := "[ok ro EROFS EROFS EROFS EACCES EACCES EBUSY EBUSY EBUSY EBUSY ok ok ok ok c new ok]"; fmt.Sprint(got) != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	testkit.Equal(t, "the host's tree", everything(t, home), host)
	jailtest.Expect(t, "what is granted by name", jailtest.Attempt(t, p, "create", home+"/shared/new"), "ok")
	testkit.Works(t, "", testkit.ErrorOf(os.Stat(home+"/shared/new")))
	// A HOME inside what may be written.
	around := homeProfile(t, home, jailtest.Grant{Path: filepath.Dir(home), Rights: rw})
	host = everything(t, home)
	got = jailtest.Attempts(t, around, attacker.Try("create", home+"/new"), attacker.Try("rewrite", home+"/x"), attacker.Try("rename", home, home+"-moved"), attacker.Try("create", filepath.Dir(home)+"/new"))
	testkit.Equal(t, "", fmt.Sprint(got), "[ok ok EBUSY ok]")
	testkit.Equal(t, "the host's tree", everything(t, home), host)
}

// TestJailHomeIsBounded: what a call writes to HOME counts as memory. A full HOME is recorded. A
// file is copied before it is changed.
func TestJailHomeIsBounded(t *testing.T) {
	needsCopies(t)
	kerneltest.Needs(t, "fresh_proc")
	home := plantHome(t)
	testkit.Must(t, os.WriteFile(home+"/x", bytes.Repeat([]byte("x"), 40<<20), 0o600))
	for _, c := range []struct {
		what   attacker.Attempt
		mb     int
		answer string
	}{
		{attacker.Try("full", home, "40"), 64, "ENOSPC"}, {attacker.Try("full", home, "40"), 512, "ok"},
		{attacker.Try("chmod", home+"/x"), 64, "ENOSPC"}, {attacker.Try("chmod", home+"/x"), 512, "ok"},
	} {
		p := homeProfile(t, home)
		p.Limits = policy.Limits{MemoryMB: c.mb}
		s := jailtest.Begin(t, p, c.what)
		s.Finish()
		testkit.Equal(t, fmt.Sprintf("%s with %d MB", c.what, c.mb), s.Out.String(), fmt.Sprintf("[%q]", c.answer))
		told := denied(s.Process, "space in "+home)
		if c.what[0] == "full" && (told.Target == "memory_mb = 64") != (c.answer == "ENOSPC") {
			t.Errorf("%s with %d MB: %+v", c.what, c.mb, s.Denials())
		}
	}
}

// refuseOverlay is a launcher whose kernel does not know the option by which an overlay
// needs no privilege, as before Linux 5.11.
func refuseOverlay(t *testing.T) confine.Launcher {
	t.Helper()
	all := namespacedFaults()
	i := slices.IndexFunc(all, func(f fault) bool { return f.step == sys.Overlays && f.call == unix.SYS_FSCONFIG })
	return confine.Launcher{TestHooks: jail.TestHooks{Steps: all[i].strike}}
}

// TestJailHomeWithoutOverlay: if the kernel makes no overlay, HOME is empty, and the plan says
// so. It is never the HOME that is kept.
func TestJailHomeWithoutOverlay(t *testing.T) {
	jailtest.Needs(t)
	l := refuseOverlay(t)
	for _, first := range []string{"Start", "Compile"} {
		home := plantHome(t)
		host := everything(t, home)
		p := homeProfile(t, home, jailtest.Grant{Path: home + "/dir/sub", Rights: r | x})
		note := func(plan *planpkg.Plan) bool {
			return slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, "HOME is empty at the start of every call") })
		}
		if first == "Compile" {
			plan, err := l.Compile(p)
			if err != nil || !note(plan) {
				t.Errorf("%v, %q", err, plan.Notes)
			}
		}
		for range 2 {
			got, err := jailtest.Run(t, l, p, []attacker.Attempt{attacker.Try("list", home), attacker.Try("list", home+"/dir/sub"), attacker.Try("create", home+"/new"), attacker.Try("exec", "/usr/bin/stat", "-c", "%a %F", home)})
			if err != nil || fmt.Sprint(got) != "[ok dir ok z ok ok 700 directory]" {
				t.Errorf("%v, %v", got, err)
			}
		}
		s := jailtest.BeginBy(t, l, p, attacker.Try("list", home))
		s.Finish()
		if !note(s.Plan()) {
			t.Errorf("%q", s.Plan().Notes)
		}
		testkit.Equal(t, "the host's tree", everything(t, home), host)
		if plan := planpkg.Compile(kept(p), kernel.Detect().WithUserNS(kernel.Available("")), planpkg.Watching{}); note(plan) {
			t.Errorf("the control: %q", plan.Notes)
		}
	}
}

// TestJailHomeChangesDuringCalls: the process that lists the tools changes its HOME while calls
// run. Each call sees a consistent state, and HOME keeps only what that process wrote.
func TestJailHomeChangesDuringCalls(t *testing.T) {
	needsCopies(t)
	home := plantHome(t)
	turns := 0
	stop := meanwhile(func() {
		turns++
		for _, name := range []string{"x", "dir/y", "dir/sub/z"} {
			os.WriteFile(home+"/tmp", []byte("turn"), 0o600)
			os.Rename(home+"/tmp", filepath.Join(home, name))
			os.Remove(filepath.Join(home, name))
		}
		os.RemoveAll(home + "/dir")
		os.MkdirAll(home+"/dir/sub", 0o700)
	})
	defer stop()
	var calls []attacker.Attempt
	for i := range 100 {
		name := []string{"x", "dir/y", "dir/sub/z", "dir/new"}[i%4]
		calls = append(calls, attacker.Try("rewrite", name), attacker.Try("mkfile", name), attacker.Try("rename", name, "moved"), attacker.Try("list", "dir"), attacker.Try("unlink", "moved"))
	}
	for range jailtest.Rounds(3, 10) {
		jailtest.Attempts(t, homeProfile(t, home), calls...)
	}
	stop()
	names, err := filepath.Glob(home + "/dir/*")
	if err != nil || fmt.Sprint(names) != "["+home+"/dir/sub]" || turns < 3 {
		t.Errorf("after %d turns: %q, %v", turns, names, err)
	}
	testkit.Fails(t, "what a call made is on the host", testkit.ErrorOf(os.Stat(home+"/moved")), "")
}

// TestJailHomePrograms: programs that keep files in HOME work there as on any filesystem.
func TestJailHomePrograms(t *testing.T) {
	needsCopies(t)
	home := plantHome(t)
	const script = `
set -e
cd "$HOME"
git init -q repo && cd repo && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git gc -q && git log --format=%s
cd .. && mv repo moved && git -C moved status -sb
echo changed > x && cat x link && echo more >> y && cat y
cp -a dir copied && rm -r copied && ls dir
`
	p := homeProfile(t, home)
	var want, got, errs bytes.Buffer
	for _, c := range []struct {
		p   *policy.Profile
		out *bytes.Buffer
	}{{p, &got}, {kept(p), &want}} {
		jailtest.Expect(t, "a lock", jailtest.Attempt(t, c.p, "locked", home+"/x"), "EAGAIN")
		sh := *c.p
		sh.Program, sh.Argv = "/usr/bin/sh", []string{"sh", "-c", script}
		proc, wait, err := jailtest.Start(t, confine.Launcher{}, &sh, c.out, &errs)
		testkit.Must(t, err)
		exit, _ := proc.Wait()
		wait()
		testkit.Equal(t, &errs, exit, (confine.Exit{}))
	}
	if got.String() != want.String() || !strings.Contains(want.String(), "first\n") {
		t.Errorf("%s, want %s", &got, &want)
	}
}

// TestHostNSHome: a call has an empty HOME of its own, which is removed afterwards. It cannot
// see the server's HOME.
func TestHostNSHome(t *testing.T) {
	jailtest.NeedsHostNS(t)
	home := plantHome(t)
	p := homeProfile(t, home)
	p.Env = append(p.Env, policy.Variable{Name: policy.StatementVar, Value: string(policy.NewStatement(p).Encode())})
	host := everything(t, home)
	looks := []attacker.Attempt{attacker.Try("variable", "HOME"), attacker.Try("cwd"), attacker.Try("list", "."), attacker.Try("create", "new"), attacker.Try("list", home), attacker.Try("read", home+"/x"), attacker.Try("rewrite", home+"/x"), attacker.Try("create", home+"/new"), attacker.Try("env")}
	for range 2 {
		got := jailtest.AttemptsHostNS(t, p, looks...)
		own := strings.TrimPrefix(got[0], "ok ")
		if want := fmt.Sprint("[ok ", own, " ok ", own, " ok ok EACCES EACCES EACCES EACCES]"); fmt.Sprint(got[:8]) != want || !strings.HasSuffix(own, "/home") || own == home {
			t.Errorf("%v, want %s", got[:8], want)
		}
		told := fmt.Sprintf(`"home":%q,"temporary":%q,`, own, filepath.Dir(own))
		if !strings.Contains(got[8], told) || !strings.Contains(got[8], fmt.Sprintf(`{"path":%q,`, own)) || strings.Contains(got[8], home) {
			t.Errorf("it is told %s", got[8])
		}
		if _, err := os.Lstat(filepath.Dir(own)); own == "" || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: %v", own, err)
		}
	}
	testkit.Equal(t, "the host's tree", everything(t, home), host)
	if got := fmt.Sprint(jailtest.AttemptsHostNS(t, kept(p), looks[:8]...)); got != "[ok "+home+" ok "+home+" ok dir empty hard link out x y ok ok dir empty hard link new out x y ok x ok EEXIST]" {
		t.Errorf("the control: %s", got)
	}
	plan, _ := jailtest.WaivesGaps.Compile(p)
	if !slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, "HOME is an empty directory") }) {
		t.Errorf("%q", plan.Notes)
	}
}

// TestHomeMadeByOthers: in a directory that every user may write to, another user may make the
// private HOME, or a directory on the way to it, after the profile was resolved. The start then
// fails.
func TestHomeMadeByOthers(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	for _, planted := range []string{"", "state", "state/servers", "state/servers/s/home"} {
		base := testkit.Plant(t, "place/")
		shared := base + "/place"
		testkit.Must(t, os.Chmod(shared, 0o777|os.ModeSticky))
		p := jailtest.Profile(t)
		home := shared + "/state/servers/s/home"
		p.Entries = append(p.Entries, policy.Entry{Path: home, Named: home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Make: true})
		jailtest.SortEntries(p)
		if planted != "" {
			testkit.Must(t, errors.Join(os.MkdirAll(shared+"/"+planted, 0o777), os.Chown(shared+"/"+planted, 12345, 12345)))
		}
		process, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
		if err == nil {
			process.Kill()
			process.Wait()
		}
		var se *sys.Error
		if planted == "" && err != nil || planted != "" && (!errors.As(err, &se) || !strings.Contains(se.Detail, "belongs to user 12345")) {
			t.Errorf("%q: %v", planted, err)
		}
	}
}
