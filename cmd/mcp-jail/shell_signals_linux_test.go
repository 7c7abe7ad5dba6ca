package main

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestShellSignals tests a shell whose mcp-jail gets signals: a new size of the window reaches the shell, and
// after SIGTERM the user's terminal has the modes from before, and nothing is left. So with
// namespaces and without.
func TestShellSignals(t *testing.T) {
	if can, err := hostCan("jail"); err != nil || !can {
		testkit.Skip(t, "userns", "no jail: %v", err)
	}
	for name, shape := range map[string]func(*exec.Cmd) *exec.Cmd{
		"with namespaces":    func(cmd *exec.Cmd) *exec.Cmd { return cmd },
		"without namespaces": withoutUserns,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			flags := []string{"shell"}
			if name == "without namespaces" {
				flags = append(flags, waiveNamespaces...)
			}
			cmd := shape(w.mcpJail(flags...))
			cmd.Env = append(cmd.Env, "SHELL=/bin/sh", "TERM=dumb")
			endsBySignal(t, w, cmd)
		})
	}
}

func endsBySignal(t *testing.T, w *world, cmd *exec.Cmd) {
	person, program, err := testkit.Terminal(80, 24)
	must(t, err)
	defer person.Close()
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	must(t, err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	must(t, cmd.Start())
	shown := &lockedBuffer{}
	go io.Copy(shown, person)
	shows := func(text string) {
		t.Helper()
		testkit.Eventually(t, "the terminal shows "+text, func() bool { return strings.Contains(shown.String(), text) })
	}
	person.WriteString("echo $((6*7)).\n")
	shows("42.")
	during, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil || during.Lflag&(unix.ECHO|unix.ISIG|unix.ICANON) != 0 {
		t.Errorf("during the shell the user's terminal acts on keys itself: %+v, %v", during, err)
	}
	must(t, unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 55, Row: 44}))
	person.WriteString("until stty size | grep '^44 55$'; do :; done; echo $((7*7)).\n")
	shows("49.")
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("%v, want status 143\n%s", err, shown)
	}
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal is left as %+v (%v), and was %+v", after, err, before)
	}
	program.Close()
	w.noneLeft(t)
}
