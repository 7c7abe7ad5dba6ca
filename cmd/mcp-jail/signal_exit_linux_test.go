package main

import (
	"os/exec"
	"syscall"
	"testing"
)

// TestEndsBySignalOfServer tests that the parent of mcp-jail sees the wait status of the
// server, including the signal, and that mcp-jail never dumps core.
func TestEndsBySignalOfServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dumping := func(cmd *exec.Cmd) *exec.Cmd {
		out := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
		out.Dir, out.Env = w.work, cmd.Env
		return out
	}
	for _, sig := range []string{"TERM", "INT", "HUP", "KILL", "SEGV", "ABRT", "PIPE", "USR1", "ALRM"} {
		argv := []string{"sh", "-c", "# " + w.base + "/\nkill -" + sig + " $$; sleep 9"}
		bare := dumping(exec.Command(argv[0], argv[1:]...))
		bare.Run()
		want := bare.ProcessState.Sys().(syscall.WaitStatus)
		if !want.Signaled() {
			t.Fatalf("control, %s: %v", sig, bare.ProcessState)
		}
		s := start(t, dumping(w.jail(append([]string{"--"}, argv...)...)))
		s.close()
		if got := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !got.Signaled() || got.Signal() != want.Signal() || got.CoreDump() {
			t.Errorf("%s: %v, and %v without a jail\n%s", sig, s.cmd.ProcessState, bare.ProcessState, &s.stderr)
		}
	}
	s := start(t, w.jail("--", "sh", "-c", "# "+w.base+"/\nexit 143"))
	if s.close(); !s.cmd.ProcessState.Exited() || s.cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("control, a status like that of a signal: %v", s.cmd.ProcessState)
	}
}
