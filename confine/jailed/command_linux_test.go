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
	if os.Getenv("MCPJAIL_TEST_NO_INIT") != "" {
		if err := jailed.Command(context.Background(), jailed.Policy{}, "true").Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	jailed.Init()
	if os.Getenv("MCPJAIL_TEST_PARENT") != "" {
		parentMain()
		return
	}
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
	testkit.Must(t, os.MkdirAll(filepath.Join(dir, "in", "no"), 0o700))
	testkit.WriteFile(t, filepath.Join(dir, "in", "f"), "inside")
	testkit.WriteFile(t, filepath.Join(dir, "in", "no", "f"), "denied")
	testkit.WriteFile(t, filepath.Join(dir, "out"), "outside")
	script := "cat f; cat no/f; cat ../out; echo y >made; echo $T$U"
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	run := func(cmd *exec.Cmd) string {
		t.Helper()
		cmd.Dir, cmd.Env = filepath.Join(dir, "in"), append(os.Environ(), "T=t", "U=u")
		cmd.Stderr = nil
		out, err := cmd.Output()
		testkit.Works(t, out, err)
		return string(out)
	}
	testkit.Equal(t, "control", run(exec.Command("sh", "-c", script)), "insidedeniedoutsidetu\n")
	os.Remove(filepath.Join(dir, "in", "made"))
	p := jailed.Policy{Write: []string{"."}, Deny: []string{"no"}, Env: []string{"T"}}
	testkit.Equal(t, "in a jail", run(jailed.Command(t.Context(), p, "sh", "-c", script)), "insidet\n")
	testkit.Works(t, "", testkit.ErrorOf(os.Stat(filepath.Join(dir, "in", "made"))))
}

// TestHome tests that the home directory and the XDG directories of the program that calls Command
// decide what is sensitive, what is protected, and what "~" means, and that those in the command's Env
// do not. They still reach the program if the policy names them.
func TestHome(t *testing.T) {
	home := testkit.Plant(t, ".ssh/KEY", ".npmrc", "PUBLIC", "deny/DENIED", "ws/", "other/x", "xdg/git/config")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/xdg")
	t.Setenv("XDG_STATE_HOME", home+"/state")
	script := "cd " + home + "; cat PUBLIC .ssh/KEY .npmrc deny/DENIED; echo x >>xdg/git/config || echo held; echo x >>PUBLIC || echo held; echo $XDG_CONFIG_HOME"
	run := func(cmd *exec.Cmd) string {
		t.Helper()
		cmd.Dir = home + "/ws"
		out, err := cmd.Output()
		testkit.Works(t, out, err)
		return string(out)
	}
	p := jailed.Policy{Write: []string{home}, Deny: []string{"~/deny"}, Env: []string{"XDG_CONFIG_HOME"}}
	testkit.Equal(t, "control", run(exec.Command("sh", "-c", script)), "PUBLICKEY.npmrcDENIED"+home+"/xdg\n")
	for _, c := range []struct {
		env  []string
		told string
	}{
		{nil, home + "/xdg"},
		{[]string{"PATH=/usr/bin:/bin", "HOME=" + home + "/other"}, ""},
		{[]string{"PATH=/usr/bin:/bin"}, ""}, // no HOME at all
		{append(os.Environ(), "HOME="+home+"/other", "XDG_CONFIG_HOME="+home+"/other", "XDG_STATE_HOME="+home+"/other", "XDG_DATA_HOME="+home+"/other"), home + "/other"},
	} {
		testkit.WriteFile(t, home+"/PUBLIC", "PUBLIC")
		cmd := jailed.Command(t.Context(), p, "sh", "-c", script)
		cmd.Env = c.env
		testkit.Equal(t, fmt.Sprintf("with %q", c.env), run(cmd), "PUBLICheld\n"+c.told+"\n")
	}
	if left, err := os.ReadDir(home + "/other"); err != nil || len(left) != 1 {
		t.Errorf("mcp-jail's own directories are in that of the program: %v %v", left, err)
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
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	cmd := jailed.Command(ctx, p, "sh", "-c", `trap "echo got it; exit 9" TERM; echo ready; while :; do sleep 0.01; done`)
	out := testkit.Get(cmd.StdoutPipe())(t)
	testkit.Must(t, cmd.Start())
	text := make([]byte, 100)
	n, _ := out.Read(text) // ends with the context
	cmd.Process.Signal(syscall.SIGTERM)
	m, _ := out.Read(text[n:])
	if err := cmd.Wait(); string(text[:n+m]) != "ready\ngot it\n" || !errors.As(err, &exit) || exit.ExitCode() != 9 {
		t.Errorf("%q %v", text[:n+m], err)
	}
}

// sleeper is a program that starts another one in a session of its own, and tells when.
var sleeper = []string{"sh", "-c", "setsid sleep 1000 & echo started; sleep 1000"}

// endOf waits until every process that has the file as its output is gone.
func endOf(t *testing.T, out *os.File) {
	t.Helper()
	out.SetReadDeadline(time.Now().Add(testkit.Patience))
	if text, err := io.ReadAll(out); err != nil {
		t.Errorf("%q %v", text, err)
	}
}

// startSleeper starts a command and waits until its program runs.
func startSleeper(t *testing.T, cmd *exec.Cmd) (out *os.File) {
	t.Helper()
	out, in, err := os.Pipe()
	testkit.Must(t, err)
	t.Cleanup(func() { out.Close() })
	cmd.Stdout = in
	testkit.Must(t, cmd.Start())
	in.Close()
	text := make([]byte, 100)
	if n, err := out.Read(text); string(text[:n]) != "started\n" {
		t.Fatalf("the control: %q %v", text[:n], err)
	}
	return out
}

// TestKilled tests that no process of the jail outlives the command: its output ends.
func TestKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := jailed.Command(ctx, jailed.Policy{Read: []string{"."}}, sleeper[0], sleeper[1:]...)
	out := startSleeper(t, cmd)
	cancel()
	testkit.Fails(t, "it ended by itself", cmd.Wait(), "")
	endOf(t, out)
}

// TestParentDies tests that the jail does not outlive the program that has made the command.
func TestParentDies(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "MCPJAIL_TEST_PARENT=1")
	out := startSleeper(t, parent)
	parent.Process.Kill()
	parent.Wait()
	endOf(t, out)
}

// TestInitIsMissing tests that a program that does not call Init does not start itself again and
// again.
func TestInitIsMissing(t *testing.T) {
	cmd := jailed.Command(t.Context(), jailed.Policy{}, "true")
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_NO_INIT=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "has to call jailed.Init") {
		t.Errorf("%v: %s", err, out)
	}
}

// parentMain makes a command whose program sleeps, and waits for it.
func parentMain() {
	cmd := jailed.Command(context.Background(), jailed.Policy{Read: []string{"."}}, sleeper[0], sleeper[1:]...)
	cmd.Stdout = os.Stdout
	cmd.Run()
}

// TestErrors tests how a policy that cannot be used is told.
func TestErrors(t *testing.T) {
	if err := jailed.Command(t.Context(), jailed.Policy{Net: []string{"http://"}}, "true").Run(); err == nil || !strings.Contains(err.Error(), "--net http://") {
		t.Errorf("a wrong host: %v", err)
	}
	if err := jailed.Command(t.Context(), jailed.Policy{Deny: []string{"caf\xe9"}}, "true").Run(); err == nil || !strings.Contains(err.Error(), "is not UTF-8") {
		t.Errorf("a path that JSON cannot say: %v", err)
	}
	if out, err := jailed.Command(t.Context(), jailed.Policy{}, "printf", "%s", "caf\xe9"+strings.Repeat("x", 100_000)+"end").Output(); err != nil || !strings.HasPrefix(string(out), "caf\xe9x") || !strings.HasSuffix(string(out), "xend") {
		t.Errorf("a long argument that is not UTF-8: %v, %d bytes", err, len(out))
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
