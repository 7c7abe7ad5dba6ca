package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// runAsEnv makes the test binary run as the Go server, for tests that start it under its own
// path.
const runAsEnv = "MCPJAIL_TEST_AS"

// withoutNamespaces is the argv[0] under which the test binary forbids user namespaces to
// the command in its arguments.
const withoutNamespaces = "without-namespaces"

// TestMain runs the tests, or one of the programs that the tests start: mcp-jail,
// mcp-jail-cli beside it, the init of their jails, the test servers and the test clients are
// all the test binary.
func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err == nil { // by the name of their file: they execute themselves and each other with an argv[0] of their own
		switch programName(self) {
		case cmdline.Main:
			main()
		case cmdline.Companion:
			commands.Program()
		}
	} else {
		main() // a supervisor before it has a /proc: main itself must serve it
	}
	confine.RunSupervisor()
	if os.Args[0] == withoutNamespaces {
		withoutNamespacesMain()
	}
	testkit.Programs(extraPrograms).Dispatch()
	if os.Getenv(runAsEnv) == "go-server" {
		serve("go", "probe")
		os.Exit(0)
	}
	parts := map[string]func(){
		cmdline.Main: main, cmdline.Companion: commands.Program, "client": clientMain, "tty": ttyMain, "without-ptrace": withoutPtraceMain, withoutNamespaces: withoutNamespacesMain,
		"silent": silentMain, "crashing": crashingMain, "garbage": garbageMain, "glutton-child": gluttonChildMain, "newcomer": newcomerMain, execServer: execMain,
	}
	for name := range scripted {
		parts[name] = func() { scriptedMain(name) }
	}
	if part := parts[programName(os.Args[0])]; part != nil {
		os.Args[0] = programName(os.Args[0])
		part()
		os.Exit(0)
	}
	leaveOutInstalled()
	heedSignals()
	waitSideBySide()
	// Test directories are below /var/tmp: every jail has a /tmp of its own.
	base, err := os.MkdirTemp(testkit.VarTmp(), "mcp-jail-cli-")
	if err != nil {
		base, err = os.MkdirTemp("", "mcp-jail-cli-")
	}
	if err == nil {
		err = os.Chmod(base, 0o755) // root's tests start programs as an ordinary user
	}
	if err == nil {
		err = install(filepath.Join(base, "programs"), self, maps.Keys(parts))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	removeOnTerm(base)
	os.Setenv("TMPDIR", base)
	status := m.Run()
	if f := flag.Lookup("testwork"); f == nil || f.Value.String() != "true" {
		os.RemoveAll(base)
	}
	os.Exit(status)
}

// programName returns the name of a program without what Windows adds.
func programName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".exe") }

// install puts the programs of the tests into a directory, which becomes the first in PATH. All are links to one file:
// testscript itself would write a copy for each if the test binary belongs to another user.
func install(dir, self string, names iter.Seq[string]) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	one := filepath.Join(dir, "one")
	if os.Link(self, one) != nil {
		b, err := os.ReadFile(self)
		if err = errors.Join(err, testkit.WriteProgram(one, b)); err != nil {
			return err
		}
	}
	for name := range names {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		if err := os.Link(one, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return os.Remove(one)
}

// heedSignals restores the default of the signals that the tests send, if the parent of the
// tests ignores them, as a shell does for background jobs. Children would inherit that. A
// caught signal has its default again in a child.
func heedSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// removeOnTerm removes the directory of the tests when a time limit around them ends them.
func removeOnTerm(base string) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		os.RemoveAll(base)
		os.Exit(128 + int(syscall.SIGTERM))
	}()
}

// waitSideBySide makes six parallel tests the default: most of them wait for processes.
func waitSideBySide() {
	given := false
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "6")
	}
}

// leaveOutInstalled takes directories that have a mcp-jail out of PATH. The first command of the README
// puts the bin of a clone into it, and mcp-jail looks for mcp-jail-tls in PATH.
func leaveOutInstalled() {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		found, err := filepath.Glob(filepath.Join(dir, cmdline.Main+"*"))
		return err == nil && len(found) > 0
	})
	os.Setenv("PATH", strings.Join(dirs, string(os.PathListSeparator)))
}

func TestScripts(t *testing.T) {
	p := scriptParams(filepath.Join("testdata", "script"))
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("COLUMNS", "10000") // the scripts look for whole messages
		return setup(env)
	}
	testscript.Run(t, p)
}

// scriptParams returns the commands of the scripts in a directory.
func scriptParams(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("MCPJAIL_UPDATE") != "",
		Condition:           hostCan,
		Setup: func(env *testscript.Env) error {
			// The script starts in a project, beside a home.
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USER", "tester")
			env.Setenv("STATE", filepath.Join(home, ".local", "state", "mcp-jail"))
			env.Values[registryOf{}] = &scriptRegistry{}
			env.Cd = filepath.Join(env.WorkDir, "project")
			return errors.Join(os.MkdirAll(home, 0o755), os.MkdirAll(env.Cd, 0o755))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":      cmdStatus,
			"messages":    cmdMessages,
			"noremarks":   cmdNoRemarks,
			"maxwidth":    cmdMaxWidth,
			"tree":        cmdTree,
			"kept":        cmdKept,
			"noprocesses": cmdNoProcesses,
			"normalise":   cmdNormalise,
			"fill":        cmdFill,
			"registry":    cmdRegistry,
		},
	}
}

// hostCan evaluates conditions such as [userns], [landlock:4] and [jail], which means all
// features that a jail needs. If MCPJAIL_REQUIRE lists a missing feature, the script fails.
func hostCan(cond string) (bool, error) {
	names := []string{cond}
	switch cond {
	case "jail":
		names = []string{"landlock", "seccomp", "userns", "mount_api"}
	case "root":
		return os.Getuid() == 0, nil
	case "long":
		return testkit.Long(), nil
	case "npm", "python3":
		_, err := exec.LookPath(cond)
		if err != nil && testkit.Required(cond) {
			return false, fmt.Errorf("MCPJAIL_REQUIRE lists it: %w", err)
		}
		return err == nil, nil
	}
	for _, name := range names {
		f, err := confine.Probe().Has(name)
		if err != nil {
			return false, err
		}
		if f.Answer != confine.Yes {
			if testkit.Required(name) {
				return false, fmt.Errorf("MCPJAIL_REQUIRE lists %s, and this host does not have it: %s", name, f.Detail)
			}
			return false, nil
		}
	}
	return true, nil
}

// status N PROGRAM ARG... runs a program, which must exit with status N.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = statusAfter(exit.ProcessState)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// statusAfter returns the exit status of a process as a shell reports it: 128 + n after
// signal n.
func statusAfter(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}

// noremarks: the last program wrote nothing to its stderr but how long a start takes.
func cmdNoRemarks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: noremarks")
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !progress.MatchString(line) {
			ts.Fatalf("stderr has the line %q", line)
		}
	}
}

// messages N: the last program wrote N MCP messages to its stdout, and nothing else.
func cmdMessages(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: messages N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	out := ts.ReadFile("stdout")
	if out != "" && !strings.HasSuffix(out, "\n") {
		ts.Fatalf("stdout ends in the middle of a line")
	}
	got := 0
	for line := range strings.Lines(out) {
		var frame struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if json.Unmarshal([]byte(line), &frame) != nil || frame.JSONRPC != "2.0" {
			ts.Fatalf("stdout has a line that is no MCP message: %q", line)
		}
		got++
	}
	if got != want {
		ts.Fatalf("%d messages on stdout, want %d", got, want)
	}
}

// maxwidth N FILE: no line has more than N characters.
func cmdMaxWidth(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: maxwidth N file")
	}
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > limit {
			ts.Fatalf("a line has %d characters: %s", n, line)
		}
	}
}

// tree DIR [NAME...]: DIR has exactly these files and directories, recursively.
func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: tree dir [name...]")
	}
	dir := ts.MkAbs(args[0])
	got := []string{}
	ts.Check(filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && rel != "." {
			got = append(got, rel)
		}
		return err
	}))
	if want := slices.Sorted(slices.Values(args[1:])); !slices.Equal(got, want) {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}

// kept VAR NAME: VAR is the directory with the HOME and records of the server that people call NAME.
func cmdKept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kept var name")
	}
	found, _ := filepath.Glob(filepath.Join(ts.Getenv("STATE"), "servers", "*"))
	found = slices.DeleteFunc(found, func(dir string) bool {
		about, _ := os.ReadFile(filepath.Join(dir, "about.json"))
		var is struct{ Name string }
		return json.Unmarshal(about, &is) != nil || is.Name != args[1]
	})
	if len(found) != 1 {
		ts.Fatalf("%s is kept in %q", args[1], found)
	}
	ts.Setenv(args[0], found[0])
}

// noprocesses: no process of this script is left. Its processes have WORK in their
// environment or, in a jail, a HOME below WORK. "! noprocesses" waits for one to start: the
// environment of a process is empty for a moment after execve.
func cmdNoProcesses(ts *testscript.TestScript, neg bool, args []string) {
	if runtime.GOOS != "linux" {
		return
	}
	find := func() (found []string) {
		all, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range all {
			env, _ := os.ReadFile(filepath.Join(dir, "environ"))
			argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			if work := ts.Getenv("WORK") + "/"; len(argv) > 0 && strings.Contains(string(env)+string(argv), work) {
				found = append(found, fmt.Sprintf("%s %q", filepath.Base(dir), argv))
			}
		}
		return found
	}
	left := find()
	for deadline := time.Now().Add(testkit.Patience); (len(left) > 0) != neg && time.Now().Before(deadline); left = find() {
		time.Sleep(20 * time.Millisecond) // the kernel starts and ends a jail asynchronously
	}
	if (len(left) > 0) != neg {
		ts.Fatalf("left behind: %q", left)
	}
}

// fill FILE N TEXT writes TEXT N times.
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill file n text")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := strconv.Unquote(`"` + args[2] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, n)), 0o644))
}
