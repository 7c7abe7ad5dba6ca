package session

import (
	"errors"
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
	process.Kill()
	process.Wait()
}

// TestCallRetriesAfterHostChange does the same for a call of a stateless server and for
// the process that lists its tools.
func TestCallRetriesAfterHostChange(t *testing.T) {
	program, _, found := changingHost(t, "stateful = false\n[[servers.s.tools.read.access.fs]]\npath = \"GRANT\"\nread = true\n")
	tool, err := found.Follow(terminal.Console{}).StatelessOptions().Tool("read")
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
