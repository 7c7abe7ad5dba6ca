//go:build !linux

package confine

import (
	"context"
	"os"
	"runtime"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

func Namespaces() probe.Feature { return probe.Feature{} }

func Refusal(err error) (probe.Feature, error) { return probe.Feature{}, err }

func (l Launcher) AskCopies(*policy.Profile) probe.Feature { return probe.Feature{} }

func knownCopies(*policy.Profile) probe.Feature { return probe.Feature{} }

func refusedCopies(*policy.Profile, error) probe.Feature { return probe.Feature{} }

// Undumpable does nothing here.
func Undumpable() error { return nil }

// CanPoll does nothing here.
func CanPoll() error { return nil }

// ShimMain does nothing here: there are no jails.
func ShimMain() {}

// Process is a program in its jail; there are none here.
type Process struct{}

// Shim is the init of a jail that is not built yet; there are none here.
type Shim struct{}

// Prepare does nothing here.
func (l Launcher) Prepare() *Shim { return nil }

// Discard does nothing here.
func (*Shim) Discard() {}

func (l Launcher) ShimFor() *Shim { return nil }

func (l Launcher) SpawnBare() *Shim { return nil }

func (*Shim) abandon() {}

func (*Shim) Start(context.Context, *plan.Plan, jail.Stdio) (*Process, error) {
	return nil, &step.Error{Step: "namespaces", Detail: "no backend for " + runtime.GOOS}
}

func (*Process) PID() int { return 0 }

func (*Process) Signal(os.Signal) error { return os.ErrProcessDone }

func (*Process) Kill() error { return os.ErrProcessDone }

func (*Process) Done() <-chan struct{} { return nil }

func (*Process) Wait() (Exit, error) { return Exit{}, os.ErrProcessDone }

func (*Process) Denials() []policy.Denial { return nil }

func (*Process) Tell(func(Remark)) {}

func (*Process) Plan() *plan.Plan { return nil }

// Secrets are the values that nobody must be shown: none.
func (*Process) Secrets() map[string]string { return nil }
