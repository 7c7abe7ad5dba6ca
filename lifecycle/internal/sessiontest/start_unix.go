//go:build unix

package sessiontest

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
)

// executed is a process without a jail.
type executed struct{ cmd *exec.Cmd }

// startServer starts this binary with variables, unconfined.
func startServer(_ context.Context, env []string, stdio confine.Stdio) (server, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, stdio.In, stdio.Out, stdio.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &executed{cmd}, nil
}

func (e *executed) PID() int { return e.cmd.Process.Pid }

func (e *executed) Signal(s os.Signal) error { return e.cmd.Process.Signal(s) }

func (e *executed) Kill() error { return e.cmd.Process.Kill() }

func (e *executed) Wait() (confine.Exit, error) {
	e.cmd.Wait()
	ws := e.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return confine.Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}, nil
	}
	return confine.Exit{Code: ws.ExitStatus()}, nil
}
