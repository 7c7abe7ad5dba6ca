//go:build seatbelt

package integration

import (
	"context"
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
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec/sandboxexectest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/statement"
	"golang.org/x/sys/unix"
)

// TestSeatbeltHome: the copy of HOME that a call has is in its TMPDIR. HOME, the working directory and
// the statement name it there, and nothing names the place of the server's own.
func TestSeatbeltHome(t *testing.T) {
	jailtest.Needs(t)
	check := leavesNothing(t)
	home := plantHome(t)
	p := homeProfile(t, home)
	p.Env = append(p.Env, policy.Variable{Name: policy.StatementVar, Value: string(statement.New(p).Encode())})
	var earlier string
	for range 2 {
		got := jailtest.Attempts(t, p, attacker.Try("variable", "HOME"), attacker.Try("variable", "TMPDIR"), attacker.Try("cwd"), attacker.Try("env"))
		temp := strings.TrimPrefix(got[1], "ok ")
		own := filepath.Join(temp, "home")
		if got[0] != "ok "+own || got[2] != "ok "+own || !strings.HasPrefix(temp, sandboxexec.FakeTemp()) || temp == earlier {
			t.Errorf("%q", got[:3])
		}
		if !strings.Contains(got[3], fmt.Sprintf(`"home":%q,"temporary":%q,`, own, temp)) || strings.Contains(got[3], home) {
			t.Errorf("it is told %s", got[3])
		}
		earlier = temp
		check()
	}
}

// TestSeatbeltTempDir: the TMPDIR of a server is its own. A directory that was there before is never
// taken, and stays.
func TestSeatbeltTempDir(t *testing.T) {
	jailtest.Needs(t)
	check := leavesNothing(t)
	p := jailtest.Profile(t)
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	for range 2 {
		s := jailtest.Begin(t, p, attacker.Try("tmp"), attacker.Try("wait"))
		temp := s.Plan().Spec.TempDir
		testkit.Eventually(t, "what the server makes in its TMPDIR", func() bool { _, err := os.Lstat(temp + "/a"); return err == nil })
		if info, err := os.Lstat(temp); err != nil || info.Mode() != os.ModeDir|0o700 || len(temporary()) != 1 {
			t.Errorf("%v, %v, %v", info, err, temporary())
		}
		s.Kill()
		s.Finish()
		check()
	}
	compiled, err := confine.Launcher{}.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(compiled.Spec.TempDir, "file")
	defer os.RemoveAll(compiled.Spec.TempDir)
	if err := errors.Join(os.Mkdir(compiled.Spec.TempDir, 0o700), os.WriteFile(kept, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = confine.Launcher{}.StartPlan(t.Context(), compiled, jail.Stdio{})
	var failed *confine.StartError
	if !errors.As(err, &failed) || failed.Step != sandboxexec.StepPrivate || failed.Errno != unix.EEXIST {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
}

// TestSeatbeltSecrets: the secrets of a server are in its own variables, and in no argument, in no other
// process's variables and in no file. This is so before there is a server, too.
func TestSeatbeltSecrets(t *testing.T) {
	jailtest.Needs(t)
	const secret, launchers = "s3cret-of-the-server", "s3cret-of-the-launcher"
	t.Setenv("MCPJAIL_TEST_OF_THE_LAUNCHER", launchers)
	p := jailtest.Profile(t)
	p.Env = append(p.Env, policy.Variable{Name: "TOKEN", Value: secret, Secret: true}, policy.Variable{Name: "TWO", Value: "a b"}, policy.Variable{Name: "EMPTY"})
	jailtest.Expect(t, "the variables", jailtest.Attempt(t, p, "env"), "ok PATH=/usr/bin TOKEN="+secret+" TWO=a b EMPTY= GIT_CONFIG_NOSYSTEM=1")

	look := func(server int) (looked int) {
		t.Helper()
		for _, pid := range descendants(os.Getpid()) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			variables, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if len(line) == 0 || err != nil {
				continue // the Go runtime has a process that ends at once
			}
			looked++
			for _, hidden := range []string{secret, launchers} {
				if strings.Contains(string(line), hidden) || strings.Contains(string(variables), hidden) && !(pid == server && hidden == secret) {
					t.Errorf("process %d (server: %v) shows %s: %q %q", pid, pid == server, hidden, line, variables)
				}
			}
		}
		return looked
	}
	shows := func(server int) { // the Go runtime's process may look like the supervisor for a moment
		t.Helper()
		testkit.Eventually(t, "two processes: a supervisor, and what it has started", func() bool { return look(server) == 2 })
	}
	s := jailtest.Begin(t, p, attacker.Try("wait"))
	shows(firstChild(s.PID()))
	s.Kill()
	s.Finish()

	t.Setenv(sandboxexectest.HowEnv, sandboxexectest.Hang) // before there is a server
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := confine.Launcher{}.Start(ctx, p, confine.Stdio{})
		ended <- err
	}()
	testkit.Eventually(t, "sandbox-exec", func() bool {
		return slices.ContainsFunc(descendants(os.Getpid()), func(pid int) bool {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return strings.HasPrefix(string(line), sandboxexec.Path+"\x00")
		})
	})
	shows(0)
	texts, _ := filepath.Glob(jailtest.Dir + "/mcp-jail/run/*/*")
	whole := 0
	for _, name := range texts { // a launcher that was killed can have left one, or the beginning of one
		text, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(text), secret) {
			t.Errorf("the text of the profile: %s, %v", name, err)
		}
		if strings.Contains(string(text), "(deny default") {
			whole++
		}
	}
	if whole == 0 {
		t.Error("the profile has no file")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSeatbeltCannotWatch: a server whose processes cannot be looked at is ended: no limit would hold.
func TestSeatbeltCannotWatch(t *testing.T) {
	jailtest.Needs(t)
	check := leavesNothing(t)
	s := jailtest.Begin(t, limited(t, policy.Limits{Processes: policy.DefaultLimits.Processes}), attacker.Try("wait"))
	if err := unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	exit := s.Finish()
	denials := s.Denials()
	if exit.Signal != unix.SIGKILL || len(denials) != 1 || !strings.Contains(denials[0].Operation, "cannot be watched") {
		t.Errorf("after %v: %+v, %+v", time.Since(begun), exit, denials)
	}
	check()
}
