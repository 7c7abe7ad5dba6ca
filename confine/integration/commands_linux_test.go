package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// This file tests the promise of command rules: a program is started with arguments and
// variables that its rules allow, or it does not run one instruction.

// commands is the world of these tests.
type commands struct {
	profile                *policy.Profile
	echo, env, sh          string
	dir, script, otherLink string
}

// newCommands returns a profile with rules for echo, env and a script of sh.
func newCommands(t *testing.T) *commands {
	t.Helper()
	program := func(name string) string {
		file, err := exec.LookPath(name)
		if err == nil {
			file, err = filepath.EvalSymlinks(file)
		}
		testkit.Must(t, err)
		return file
	}
	c := &commands{echo: program("echo"), env: program("env"), sh: program("sh"), dir: testkit.Plant(t, "other")}
	c.script, c.otherLink = c.dir+"/cargo", c.dir+"/link"
	testkit.Must(t, testkit.WriteProgram(c.script, []byte("#!/bin/sh -u\necho \"$0:$*:${LD_LIBRARY_PATH-}:${OTHER-}\"\n")))
	testkit.Must(t, testkit.WriteProgram(c.dir+"/runner", []byte("#!/bin/sh -u\necho \"$0:$*\"\n")))
	testkit.Must(t, os.Symlink("cargo", c.otherLink))
	p := jailtest.Profile(t, jailtest.Grant{Path: c.dir, Rights: policy.Read | policy.Execute})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	p.Loaders = loaders()
	p.Programs = append([]string{p.Program, c.echo, c.env, c.sh, c.script, c.dir + "/runner"}, p.Loaders...)
	p.OwnPrograms = []string{p.Program}
	p.CommandArgs = []string{"cargo", "echo", "env"}
	p.Commands = []policy.Command{
		{Name: "cargo", Args: [][]string{{"check"}}, Starts: []policy.Start{{File: c.sh, Name: "sh", Paths: []string{"/bin/sh"}, Lead: []string{"-u"}, Script: c.script}}},
		{Name: "runner", Args: [][]string{{"run"}}, Starts: []policy.Start{{File: c.sh, Name: "sh", Paths: []string{"/bin/sh"}, Lead: []string{"-u"}, Script: c.dir + "/runner"}}},
		{Name: "echo", Args: [][]string{{"good"}, {"log", "--oneline", "*"}}, Starts: []policy.Start{{File: c.echo, Name: "echo", Paths: []string{c.echo}}}},
		{Name: "echo", Args: [][]string{{"status", "**"}}, Starts: []policy.Start{{File: c.echo, Name: "echo", Paths: []string{c.echo}}}},
		{Name: "env", Args: [][]string{{}}, Envs: []string{"GOOD"}, Starts: []policy.Start{{File: c.env, Name: "env"}}},
	}
	c.profile = p
	return c
}

// rows are starts, with what becomes of them.
func (c *commands) rows() (attempts []attacker.Attempt, want []attacker.Outcome) {
	add := func(outcome, path, env string, argv ...string) {
		attempts = append(attempts, attacker.Try("start-program", append([]string{path, c.dir, env}, argv...)...))
		want = append(want, attacker.Outcome(outcome))
	}
	add("ok good", c.echo, "", "echo", "good")
	add("ok good", c.echo, "", c.echo, "good")
	add("killed", c.echo, "", "/any/echo", "good") // Python would take its modules from there
	add("killed", c.echo, "", "./echo", "good")
	add("killed", c.echo, "", "", "good")
	add("killed", c.echo, "", "echo", "evil")
	add("killed", c.echo, "", "echo")
	add("killed", c.echo, "", "echo", "good", "good")
	add("killed", c.echo, "", "echo", "-n", "good")
	add("killed", c.echo, "", "other", "good")
	add("ok log --oneline x", c.echo, "", "echo", "log", "--oneline", "x")
	add("killed", c.echo, "", "echo", "log", "--oneline")
	add("killed", c.echo, "", "echo", "log", "--oneline", "x", "y")
	add("ok status", c.echo, "", "echo", "status")
	add("ok status a b", c.echo, "", "echo", "status", "a", "b")
	add("ok GOOD=1", c.env, "GOOD=1", "env")
	large := strings.Repeat("x", 20<<10) // the stack is read in several steps
	add("ok GOOD=1", c.env, "EVIL="+large+" GOOD=1", "env")
	add("killed", c.echo, "", "echo", "log", "--oneline", large, large)
	add("ok GOOD=1 PATH=/x LC_ALL=C", c.env, "EVIL=1 GOOD=1 PATH=/x GOODER=2 LD_LIBRARY_PATH=/y LC_ALL=C EVIL=3", "env")
	add("ok", c.env, "EVIL=1", "env")
	add("killed", c.env, "GOOD=1", "env", "x")
	add("killed", c.env, "GOOD=1", "env", "-S", c.echo+" good")
	add("ok "+c.script+":check::1", c.script, "LD_LIBRARY_PATH=/y OTHER=1", "cargo", "check")
	add("killed", c.script, "", "cargo", "run")
	add("killed", c.script, "", "cargo", "check", "x")
	add("ok "+c.script+":check::", "./cargo", "", "cargo", "check")
	add("ok "+c.script+":check::", c.otherLink, "", "anything", "check")
	add("killed", "./cargo", "", "cargo", "run")
	// The interpreter and the loader have no rule of their own.
	add("ok "+c.script+":check::", c.sh, "", "sh", "-u", "cargo", "check")
	add("killed", c.sh, "", "sh", "-u", "cargo", "run")
	add("killed", c.sh, "", "sh", "cargo", "check")
	add("killed", c.sh, "", "sh", "-u", "other", "check")
	add("killed", c.sh, "", "sh", "-c", c.echo+" good")
	for _, l := range c.profile.Loaders {
		add("killed", l, "", "ld.so", c.echo, "good")
		add("killed", l, "", "echo", "good")
	}
	add("EACCES", c.dir+"/other", "", "other")
	return attempts, want
}

func (c *commands) check(t *testing.T, run func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome) {
	t.Helper()
	attempts, want := c.rows()
	attempts = append(attempts,
		attacker.Try("start-from-thread", c.echo, "echo", "good"), attacker.Try("start-from-thread", c.echo, "echo", "evil"),
		attacker.Try("stops-after-failure"), attacker.Try("wait-after-failure"),
		attacker.Try("start-descriptor", c.script, "cargo", "check"), attacker.Try("start-descriptor", c.script, "cargo", "run"))
	want = append(want, "ok good", "killed", "ok stops, continues, user defined signal 1", "ok", attacker.Outcome("ok "+c.script+":check::"), "killed")
	for i, got := range run(t, c.profile, attempts...) {
		testkit.Equal(t, attempts[i], got, want[i])
	}
	free := *c.profile
	free.CommandArgs, free.Commands, free.OwnPrograms = nil, nil, nil
	control, wantFree := []attacker.Attempt{attacker.Try("start-program", c.echo, c.dir, "", "/any/echo", "evil"), attacker.Try("start-program", c.env, c.dir, "EVIL=1 GOOD=1", "env")}, []attacker.Outcome{"ok evil", "ok EVIL=1 GOOD=1"}
	testkit.Equal(t, "control: without arguments in the rules", run(t, &free, control...), wantFree)
}

func TestJailCommands(t *testing.T) {
	jailtest.Needs(t)
	newCommands(t).check(t, jailtest.Attempts)
}

func TestHostNSCommands(t *testing.T) {
	jailtest.NeedsHostNS(t)
	newCommands(t).check(t, jailtest.AttemptsHostNS)
}

// TestJailCommandsOwnProgram tests that a rule for the server's own program holds for every name of
// its file, and for every system call that starts it.
func TestJailCommandsOwnProgram(t *testing.T) {
	jailtest.Needs(t)
	ownProgram(t, jailtest.Attempts)
}

func TestHostNSCommandsOwnProgram(t *testing.T) {
	jailtest.NeedsHostNS(t)
	ownProgram(t, jailtest.AttemptsHostNS)
}

func ownProgram(t *testing.T, run func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome) {
	t.Helper()
	c := newCommands(t)
	rule, own, other := c.dir+"/one", c.dir+"/two", c.dir+"/link-of-two"
	program := testkit.Get(os.ReadFile(c.echo))(t)
	testkit.Must(t, errors.Join(testkit.WriteProgram(rule, program), os.Link(rule, own), os.Symlink("two", other)))
	p := *c.profile
	p.Programs = append(slices.Clone(p.Programs), rule, own)
	p.OwnPrograms = append(slices.Clone(p.OwnPrograms), own)
	free := p
	p.Commands = append(slices.Clone(p.Commands), policy.Command{Name: rule, Args: [][]string{{"good"}}, Starts: []policy.Start{{File: rule, Name: "one", Paths: []string{rule}}}})
	i386 := attacker.Outcome("EPERM")
	if attacker.LacksI386() {
		i386 = "ENOEXEC"
	}
	rows := []struct {
		attempt    attacker.Attempt
		want, free attacker.Outcome // free: without a rule for the program
	}{
		{attacker.Try("start-program", rule, c.dir, "", "one", "good"), "ok good", "ok good"},
		{attacker.Try("start-program", rule, c.dir, "", "one", "evil"), "killed", "ok evil"},
		{attacker.Try("start-program", own, c.dir, "", "one", "good"), "ok good", "ok good"},
		{attacker.Try("start-program", own, c.dir, "", "two", "evil"), "killed", "ok evil"},
		{attacker.Try("start-program", own, c.dir, "", own, "evil"), "killed", "ok evil"},
		{attacker.Try("start-program", other, c.dir, "", "two", "evil"), "killed", "ok evil"},
		{attacker.Try("start-program", "/proc/self/cwd/two", c.dir, "", "two", "evil"), "killed", "ok evil"},
		{attacker.Try("start-descriptor", own, "two", "evil"), "killed", "ok evil"},
		{attacker.Try("start-from-thread", own, "two", "evil"), "killed", "ok evil"},
		{attacker.Try("start-copy", own, "two", "evil"), "ENOSYS", "ENOSYS"}, // a copy is another file
		{attacker.Try("uring"), "ENOSYS", "ENOSYS"},
		{attacker.Try("reaches", "EINVAL", "clone3", "#88", "8"), "ENOSYS", "ENOSYS"},
		{attacker.Try("i386-reaches", "EBADF", "execveat", "-1", "@two", "0", "0", "0"), i386, i386},
		{attacker.Try("x32-reaches", "EBADF", "execveat", "-1", "@two", "0", "0", "0"), "EPERM", "EPERM"},
	}
	if runtime.GOARCH != "amd64" {
		rows = rows[:len(rows)-2]
	}
	var attempts []attacker.Attempt
	for _, r := range rows {
		attempts = append(attempts, r.attempt)
	}
	got, control := run(t, &p, attempts...), run(t, &free, attempts...)
	for i, r := range rows {
		testkit.Equal(t, r.attempt, got[i], r.want)
		testkit.Equal(t, fmt.Sprintf("control, without a rule for it: %s", r.attempt), control[i], r.free)
	}
	free.CommandArgs, free.Commands, free.OwnPrograms, free.Programs, free.Loaders = nil, nil, nil, nil, nil
	if got := run(t, &free, attacker.Try("start-copy", own, "two", "evil"))[0]; got != "ok evil" {
		t.Errorf("control, without command rules: a copy: %s", got)
	}
}

// TestJailCommandsThreads: a thread that executes a program takes the number of its process's first
// thread. A stop of that one must not let the new program go, and threads that execute at once do
// not hold each other up. What writes into new processes, or swaps a script meanwhile, gets nothing by it.
func TestJailCommandsThreads(t *testing.T) {
	jailtest.Needs(t)
	threadStarts(t, jailtest.Attempts)
}

func TestHostNSCommandsThreads(t *testing.T) {
	jailtest.NeedsHostNS(t)
	threadStarts(t, jailtest.AttemptsHostNS)
}

func threadStarts(t *testing.T, run func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome) {
	t.Helper()
	c := newCommands(t)
	n := fmt.Sprint(jailtest.Rounds(100, 1000))
	swapped := attacker.Try("swapped-script", c.script, c.dir+"/runner", "run", ":run::", ":run")
	got := run(t, c.profile, attacker.Try("swapped-leaders", n, c.echo), attacker.Try("racing-starts", c.echo, "good"), attacker.Try("racing-starts", c.echo, "evil"), attacker.Try("write-into-starts", c.echo, "good"), swapped)
	want := []attacker.Outcome{"ok good true, killed true, other none", "ok good", "killed", "nothing", "ok [false true]"}
	testkit.Equal(t, "", got, want)
	free := *c.profile
	free.CommandArgs, free.Commands, free.OwnPrograms = nil, nil, nil
	if got := run(t, &free, attacker.Try("swapped-leaders", "32", c.echo), swapped); !strings.HasPrefix(string(got[0]), "evil ran ") || got[1] != "ok [true true]" {
		t.Errorf("control: without arguments in the rules: %s", got)
	}
}

// TestJailCommandsDenials: a refused start is on record with its arguments when its end is seen.
func TestJailCommandsDenials(t *testing.T) {
	jailtest.Needs(t)
	c := newCommands(t)
	s := jailtest.BeginBy(t, confine.Launcher{Waive: []policy.Axis{policy.AxisFs}}, c.profile,
		attacker.Try("start-program", c.echo, "/", "", "echo", "push", "a b", ""), attacker.Try("start-program", c.sh, "/", "", "sh", "-c", "x"),
		attacker.Try("start-program", c.script, "/", "", "cargo", "run"),
		attacker.Try("start-program", c.echo, "/", "", "/any/echo", "good"), attacker.Try("start-program", c.echo, "/", "", "", "good"))
	s.Finish()
	var got []string
	for _, d := range s.Denials() {
		if d.Axis != policy.AxisProcess || d.Reason != policy.DeniedArguments || d.Program != jailtest.Binary {
			t.Errorf("%+v", d)
		}
		got = append(got, fmt.Sprintf("%s %q %s", d.Target, d.Arguments, d.Detail))
	}
	want := []string{c.echo + ` ["echo" "push" "a b" ""] `, c.sh + ` ["sh" "-c" "x"] `, c.script + ` ["cargo" "run"] `, c.echo + ` ["/any/echo" "good"] `, c.echo + ` ["" "good"] `}
	testkit.Equal(t, fmt.Sprintf("%s%s", s.Out, s.Errs), got, want)
}

// TestJailCommandsSelfTest: a jail in which the server could trace processes does not start.
func TestJailCommandsSelfTest(t *testing.T) {
	jailtest.Needs(t)
	c := newCommands(t)
	withoutFilter := func(b *jail.Builder, steps []jail.Step) []jail.Step {
		for i := range steps {
			if steps[i].Name == sys.Supervision {
				steps[i].Run = func() error { return nil } // the second filter
				break
			}
		}
		return steps
	}
	c.profile.Argv = append(c.profile.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("cwd")})...)
	_, err := confine.Launcher{TestHooks: jail.TestHooks{Steps: withoutFilter}}.Start(t.Context(), c.profile, jail.Stdio{})
	var se *sys.Error
	if !errors.As(err, &se) || se.Step != sys.Supervision || !strings.Contains(se.Detail, "trace a process") {
		t.Errorf("%v", err)
	}
	unchanged := func(_ *jail.Builder, steps []jail.Step) []jail.Step { return steps }
	process, err := confine.Launcher{TestHooks: jail.TestHooks{Steps: unchanged}}.Start(t.Context(), c.profile, jail.Stdio{})
	testkit.Must(t, err)
	process.Wait()
}
