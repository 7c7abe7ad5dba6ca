package jailed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/jailed"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMain(m *testing.M) {
	jailed.Init()
	os.Exit(m.Run())
}

// A program that reads its working directory and nothing else of the user's. The main function
// calls Init first thing; here TestMain does.
func ExampleCommand() {
	policy := jailed.Policy{Read: []string{"."}, Env: []string{"GREETING"}}
	cmd := jailed.Command(context.Background(), policy, "sh", "-c", "echo $GREETING; head -n 1 doc.go | cut -c 1-7; echo x >new || echo refused")
	cmd.Env = append(os.Environ(), "GREETING=hello", "TOKEN=secret")
	out, err := cmd.Output()
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// hello
	// // Pack
	// refused
	// <nil>
}

// TestCommand tests what a policy grants and refuses, with a run without a jail as the control.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in", "no"), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(dir, "in", "f"), "inside")
	testkit.WriteFile(t, filepath.Join(dir, "in", "no", "f"), "denied")
	testkit.WriteFile(t, filepath.Join(dir, "out"), "outside")
	script := "cat f; cat no/f; cat ../out; echo y >made; echo $T$U"
	run := func(cmd *exec.Cmd) string {
		t.Helper()
		cmd.Dir, cmd.Env = filepath.Join(dir, "in"), append(os.Environ(), "T=t", "U=u", "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir)
		cmd.Stderr = nil
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := run(exec.Command("sh", "-c", script)); got != "insidedeniedoutsidetu\n" {
		t.Errorf("control: %q", got)
	}
	os.Remove(filepath.Join(dir, "in", "made"))
	p := jailed.Policy{Write: []string{"."}, Deny: []string{"no"}, Env: []string{"T"}}
	if got := run(jailed.Command(t.Context(), p, "sh", "-c", script)); got != "insidet\n" {
		t.Errorf("in a jail: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "in", "made")); err != nil {
		t.Error(err)
	}
}

// TestExit tests that the command ends as its program ends, and that signals reach that.
func TestExit(t *testing.T) {
	p := jailed.Policy{Read: []string{"."}}
	var exit *exec.ExitError
	if err := jailed.Command(t.Context(), p, "sh", "-c", "exit 7").Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Error(err)
	}
	if err := jailed.Command(t.Context(), p, "sh", "-c", "kill -USR1 $$").Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGUSR1 {
		t.Error(err)
	}
	cmd := jailed.Command(t.Context(), p, "sh", "-c", `trap "echo got it; exit 9" TERM; echo ready; while :; do sleep 0.01; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 100)
	n, _ := out.Read(text)
	cmd.Process.Signal(syscall.SIGTERM)
	m, _ := out.Read(text[n:])
	if err := cmd.Wait(); string(text[:n+m]) != "ready\ngot it\n" || !errors.As(err, &exit) || exit.ExitCode() != 9 {
		t.Errorf("%q %v", text[:n+m], err)
	}
}

// TestKilled tests that no process of the jail outlives the command: its output ends.
func TestKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := jailed.Command(ctx, jailed.Policy{Read: []string{"."}}, "sh", "-c", "setsid sleep 1000 & echo started; sleep 1000")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	text := make([]byte, 100)
	if n, err := out.Read(text); string(text[:n]) != "started\n" {
		t.Fatalf("the control: %q %v", text[:n], err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	out.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, err := out.Read(text); err != io.EOF {
		t.Errorf("%q %v", text[:n], err)
	}
}

// TestErrors tests how a policy that cannot be used is told.
func TestErrors(t *testing.T) {
	if err := jailed.Command(t.Context(), jailed.Policy{Net: []string{"http://"}}, "true").Run(); err == nil || !strings.Contains(err.Error(), "--net http://") {
		t.Errorf("a wrong host: %v", err)
	}
	for _, c := range []struct {
		policy  jailed.Policy
		command string
		status  int
		text    string
	}{
		{jailed.Policy{Read: []string{"../outside"}}, "true", 2, "--read ../outside"},
		{jailed.Policy{}, "no-such-program", 1, "no-such-program"},
	} {
		var exit *exec.ExitError
		_, err := jailed.Command(t.Context(), c.policy, c.command).Output()
		if !errors.As(err, &exit) || exit.ExitCode() != c.status || !strings.Contains(string(exit.Stderr), c.text) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
