package session

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestMain runs the tests, or the supervisor of a jail, which is the test binary, too.
func TestMain(m *testing.M) {
	confine.RunSupervisor()
	os.Exit(m.Run())
}

// replace replaces a file by a copy, as an upgrade does.
func replace(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	// No fork meanwhile: a child would hold the file open for writing, and it could not be
	// executed (ETXTBSY).
	syscall.ForkLock.RLock()
	must(t, testkit.WriteProgram(file+".new", b))
	syscall.ForkLock.RUnlock()
	must(t, os.Rename(file+".new", file))
}

// changingHost returns the target of a server. Its program, which is in the baseline, and
// its grant are in the directory of the test.
func changingHost(t *testing.T, keys string) (program, grant string, found *Target) {
	t.Helper()
	for _, feature := range []string{"landlock", "seccomp", "userns", "mount_api"} {
		if f, err := confine.Probe().Has(feature); err != nil || f.Answer != confine.Yes {
			testkit.Skip(t, feature, "%v %s", err, f.Detail)
		}
	}
	// A session makes its process undumpable, here the test process. Other tests could then
	// not create user namespaces.
	t.Cleanup(func() { must(t, unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)) })
	base := testkit.ShortDir(t) // not below /tmp: a jail has its own
	program, grant = filepath.Join(base, "sleep"), filepath.Join(base, "grant")
	for _, dir := range []string{"home", "work", "grant"} {
		must(t, os.Mkdir(filepath.Join(base, dir), 0o755))
	}
	path, err := exec.LookPath("sleep")
	must(t, err)
	b, err := os.ReadFile(path)
	must(t, err)
	syscall.ForkLock.RLock() // see replace
	must(t, testkit.WriteProgram(program, b))
	syscall.ForkLock.RUnlock()
	config := filepath.Join(base, "again.toml")
	must(t, os.WriteFile(config, []byte("version = 1\n[servers.s]\ncommand = \""+program+"\"\narguments = [\"100\"]\n"+strings.ReplaceAll(keys, "GRANT", grant)), 0o644))
	t.Setenv("HOME", filepath.Join(base, "home"))
	t.Chdir(filepath.Join(base, "work"))
	found, err = Resolve(cmdline.ConfigFlags{Config: []string{config}}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
	must(t, err)
	return program, grant, found
}

const changingAccess = "[[servers.s.access.fs]]\npath = \"GRANT\"\nread = true\nwrite = true\n"

// TestStartRetriesAfterHostChange replaces a file of the baseline between resolution and
// start. The jail cannot be built, and the start resolves the profile again.
func TestStartRetriesAfterHostChange(t *testing.T) {
	program, _, found := changingHost(t, changingAccess)
	var failed *confine.StartError
	for attempt := 0; ; attempt++ {
		replace(t, program)
		_, err := confine.Launcher{}.Start(t.Context(), found.Profile, confine.Stdio{})
		if errors.As(err, &failed) && strings.Contains(failed.Detail, program) {
			break
		}
		if attempt == 3 {
			t.Fatalf("the control: %v, want a StartError that names the program", err)
		}
		// Something else of the baseline was replaced too, by useradd for instance.
		program, _, found = changingHost(t, changingAccess)
	}
	s := found.Follow(terminal.Console{}).Session(terminal.Console{}, confine.Launcher{})
	process, err := s.Launcher.Start(t.Context(), found.Profile, confine.Stdio{})
	must(t, err)
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("another process of the user can read the memory of the session: %d, %v", dumpable, err)
	}
	process.Kill()
	process.Wait()
}

// TestCallRetriesAfterHostChange does the same for a call of a stateless server and for
// the process that lists its tools.
func TestCallRetriesAfterHostChange(t *testing.T) {
	program, _, found := changingHost(t, "stateful = false\n[[servers.s.tools.read.access.fs]]\npath = \"GRANT\"\nread = true\n")
	tool, err := found.Follow(terminal.Console{}).StatelessOptions().Tool("read", false)
	must(t, err)
	for _, p := range []*policy.Profile{tool.Profile, found.Profile} {
		replace(t, program)
		if _, err := (confine.Launcher{}).Start(t.Context(), p, confine.Stdio{}); err == nil || !strings.Contains(err.Error(), program) {
			t.Errorf("the control: %v", err)
		}
		process, err := found.Follow(terminal.Console{}).Session(terminal.Console{}, confine.Launcher{}).Launcher.Start(t.Context(), p, confine.Stdio{})
		must(t, err)
		if got := process.Plan().Profile.Tool; got != p.Tool {
			t.Errorf("tool %q was started as %q", p.Tool, got)
		}
		process.Kill()
		process.Wait()
	}
}

// TestStartRetryGivesUp tests that a start is not retried if a rule of the user names the
// changed object, if nothing has changed, or if files change each time.
func TestStartRetryGivesUp(t *testing.T) {
	swapped := &confine.StartError{Step: "mounts", Detail: "x: it was replaced"}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, program, grant string)
		fails  *confine.StartError
		starts int
		want   string
	}{
		{"the grant", func(t *testing.T, program, grant string) {
			replace(t, program)
			must(t, os.Rename(grant, grant+".old"))
			must(t, os.Mkdir(grant, 0o755))
		}, swapped, 1, "a file that a rule of the policy names was replaced"},
		{"the grant is a link", func(t *testing.T, _, grant string) {
			must(t, os.Rename(grant, grant+".old"))
			must(t, os.Symlink("home", grant))
		}, swapped, 1, "a file that a rule of the policy names was replaced"},
		{"each time", func(t *testing.T, program, _ string) { replace(t, program) }, swapped, maxStartAttempts, "kept changing"},
		{"nothing", func(*testing.T, string, string) {}, swapped, 1, "it was replaced"},
		{"the program cannot be executed", func(t *testing.T, program, _ string) { replace(t, program) }, &confine.StartError{Step: confine.StepExec}, 1, "could not be started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, grant, found := changingHost(t, changingAccess)
			starts := 0
			_, err := found.Start(t.Context(), found.Profile, func(*policy.Profile) (*confine.Process, error) {
				starts++
				c.change(t, program, grant)
				return nil, c.fails
			})
			var failed *confine.StartError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) || starts != c.starts {
				t.Errorf("%d starts, %v", starts, err)
			}
		})
	}
}

var must = testkit.Must

// TestFollowedTools tests that the profile of a tool is that of the newest configuration, also if
// it was resolved and kept before, and that a configuration with a mistake changes nothing.
func TestFollowedTools(t *testing.T) {
	_, grant, found := changingHost(t, "stateful = false\n[[servers.s.tools.read.access.fs]]\npath = \"GRANT\"\nread = true\n")
	file := found.source.options.Files[0]
	text, err := os.ReadFile(file)
	must(t, err)
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	write(string(text))
	f := found.Follow(terminal.Console{})
	defer f.Close()
	f.Refresh() // the file was written again
	tools := &toolCache{}
	rights := func() policy.Rights {
		t.Helper()
		var all policy.Rights
		for range 2 { // the second one may be kept from the first
			tool, err := tools.get(f.target(), "read", false)
			must(t, err)
			all |= tool.Profile.RightsAt(grant)
		}
		return all
	}
	if r := f.Refresh(); r.Changed || r.Notice+r.Problem != "" || rights() != policy.Read {
		t.Fatalf("the control: %+v, %v", r, rights())
	}
	write(strings.Replace(string(text), "read = true", "write = true # and not read", 1))
	if r := f.Refresh(); !r.Changed || r.Notice == "" || r.Problem != "" {
		t.Errorf("%+v", r)
	}
	if got := rights(); got.Has(policy.Read) || !got.Has(policy.Update) {
		t.Errorf("rights %v", got)
	}
	write("nonsense = 1\nmore = 2\n")
	for range 2 {
		if r := f.Refresh(); r.Changed || !strings.Contains(r.Problem, "nonsense") || !strings.Contains(r.Problem, "(and 1 more: mcp-jail check)") || !rights().Has(policy.Update) {
			t.Errorf("%+v, rights %v", r, rights())
		}
	}
	write(string(text))
	if r := f.Refresh(); !r.Changed || r.Problem != "" || rights() != policy.Read {
		t.Errorf("%+v, rights %v", r, rights())
	}
}

// TestToolThatRuns: a process that runs has the profile of its start until its jail would show or hide something else.
func TestToolThatRuns(t *testing.T) {
	write := func(name string) func(base string) error {
		return func(base string) error { return os.WriteFile(filepath.Join(base, name), nil, 0o644) }
	}
	for _, c := range []struct {
		name, grants string // paths that may be read; GRANT-link leads to a directory
		change       func(base string) error
		runs, start  bool   // the profile is the same
		hidden       string // at the end
	}{
		{"nothing", "GRANT", nil, true, true, ""},
		{"what only a start looks at", "GRANT", write("home/.gitconfig"), true, false, ""},
		{"a secret in a granted directory", "GRANT", write("grant/.env"), false, false, "grant/.env"},
		{"a secret below one", "GRANT", write("grant/below/.env"), false, false, "grant/below/.env"},
		{"a granted file that was missing", "GRANT GRANT-later", write("grant-later"), false, false, ""},
		{"a granted link that leads elsewhere", "GRANT GRANT-link", func(base string) error {
			link := filepath.Join(base, "grant-link")
			return errors.Join(os.Remove(link), os.Symlink(filepath.Join(base, "home"), link))
		}, false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "stateful = false\n"
			for _, path := range strings.Fields(c.grants) {
				text += "[[servers.s.tools.read.access.fs]]\npath = \"" + path + "\"\nread = true\n"
			}
			_, grant, found := changingHost(t, text)
			base := filepath.Dir(grant)
			must(t, errors.Join(os.Mkdir(filepath.Join(grant, "below"), 0o755), os.Mkdir(grant+"-other", 0o755), os.Symlink(grant+"-other", grant+"-link")))
			tools := &toolCache{}
			before, err := tools.get(found, "read", false)
			must(t, err)
			if c.change != nil {
				must(t, c.change(base))
			}
			for _, look := range []struct{ runs, same bool }{{true, c.runs}, {false, c.start}} {
				now, err := tools.get(found, "read", look.runs)
				must(t, err)
				if (now == before) != look.same {
					t.Errorf("runs %v: the same profile %v, want %v", look.runs, now == before, look.same)
				}
				if c.hidden != "" && now.Profile.RightsAt(filepath.Join(base, c.hidden)) != 0 {
					t.Errorf("runs %v: the secret is not hidden", look.runs)
				}
			}
		})
	}
}

// TestKeepingFinishes tests that the files of a jail are closed when the jail cannot be started,
// and when it has ended.
func TestKeepingFinishes(t *testing.T) {
	_, _, found := changingHost(t, "undo = \"session\"\n"+changingAccess)
	state, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	k := &keeping{Store: undo.Store{Dir: filepath.Join(state, "undo"), Base: state}, Server: "s", Name: "s"}
	var last *confine.Kept
	closed := func(what string, want bool) {
		t.Helper()
		_, journal := last.Journal.Stat()
		_, data := last.Data.Stat()
		if errors.Is(journal, os.ErrClosed) != want || errors.Is(data, os.ErrClosed) != want {
			t.Errorf("%s: journal %v, data %v", what, journal, data)
		}
	}
	start := func(l confine.Launcher) (*confine.Process, error) {
		last = l.Kept
		return l.Start(t.Context(), found.Profile, confine.Stdio{})
	}

	refused := errors.New("refused")
	if _, err := k.Start(found.Profile, confine.Launcher{}, func(l confine.Launcher) (*confine.Process, error) { last = l.Kept; return nil, refused }); err != refused {
		t.Errorf("the error is %v", err)
	}
	closed("a jail that was not started", true)

	p, err := k.Start(found.Profile, confine.Launcher{}, start)
	must(t, err)
	closed("a jail that runs", false)
	first, beside := k.begin("a", true), k.begin("b", true) // one number for both: see CallBegins
	k.end()
	k.end()
	if next := k.begin("c", true); first != 1 || beside != 1 || next != 2 {
		t.Errorf("the calls have the numbers %d, %d and %d", first, beside, next)
	}
	k.end()
	must(t, p.Kill())
	p.Wait()
	closed("a jail that has ended", true)

	p, err = k.Start(found.Profile, confine.Launcher{}, start)
	must(t, err)
	closed("another jail that runs", false)
	k.Close()
	k.Close() // does nothing
	must(t, p.Kill())
	p.Wait()
	closed("a jail that outlives the session", true)
	if left, err := os.ReadDir(k.Store.Dir); err != nil || len(left) > 0 {
		t.Errorf("a session without changes has left %v, %v", left, err)
	}
}

// TestSocketIsNoProgram: the user can start a program and enter an own directory. The user can start neither a socket nor
// a closed directory, though both have execute bits.
func TestSocketIsNoProgram(t *testing.T) {
	dir := t.TempDir()
	socket, program, plain := filepath.Join(dir, "bus"), filepath.Join(dir, "program"), filepath.Join(dir, "plain")
	l, err := net.Listen("unix", socket)
	testkit.Must(t, err)
	defer l.Close()
	for path, mode := range map[string]os.FileMode{program: 0o755, plain: 0o644} {
		testkit.Must(t, os.WriteFile(path, nil, mode))
	}
	testkit.Must(t, os.Chmod(socket, 0o755))
	closed := filepath.Join(dir, "closed")
	testkit.Must(t, errors.Join(os.Mkdir(closed, 0o700), os.Chmod(closed, 0o011)))
	for path, want := range map[string]bool{socket: false, program: true, plain: false, dir: true, closed: os.Getuid() == 0} {
		if got := isExecutable(path); got != want {
			t.Errorf("%s: %v", filepath.Base(path), got)
		}
	}
}
