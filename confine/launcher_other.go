//go:build !linux && !darwin && !windows

package confine

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Die ends this process.
func (e Exit) Die() { os.Exit(e.Code) }

// RunSupervisor does nothing here: there are no jails.
func RunSupervisor() {}

// Process is a program in its jail; there are none here.
type Process struct{}

func (*starter) start(context.Context, *Plan, Stdio, Launcher) (*Process, error) {
	return nil, &sys.Error{Step: "namespaces", Detail: "no backend for " + runtime.GOOS}
}

func (*Process) PID() int { return 0 }

func (*Process) Signal(os.Signal) error { return os.ErrProcessDone }

// KeepCall does nothing here.
func (*Process) KeepCall(bool) error { return nil }

func (*Process) Kill() error { return os.ErrProcessDone }

func (*Process) Done() <-chan struct{} { return nil }

func (*Process) Wait() (Exit, error) { return Exit{}, os.ErrProcessDone }

func (*Process) Denials() []policy.Denial { return nil }

func (*Process) HostFailures() []policy.HostFailure { return nil }

func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

func (*Process) OnNotice(func(Notice)) {}

func (*Process) Plan() *Plan { return nil }

// Secrets returns nil: there are no secrets without an interceptor.
