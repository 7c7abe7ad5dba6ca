//go:build !linux && !darwin && !windows

package confine

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

func refusedNamespaces(err error) (features.Feature, error) { return features.Feature{}, err }

func (l Launcher) probeOverlays(*policy.Profile) map[string]features.Feature { return nil }

func cachedOverlays(*policy.Profile) map[string]features.Feature { return nil }

func overlayRefused(*policy.Profile, error) bool { return false }

// Die ends this process.
func (e Exit) Die() { os.Exit(e.Code) }

// Undumpable does nothing here.
func Undumpable() error { return nil }

// CanPoll does nothing here.
func CanPoll() error { return nil }

// RunSupervisor does nothing here: there are no jails.
func RunSupervisor() {}

// Process is a program in its jail; there are none here.
type Process struct{}

// Prepared is the supervisor process of a jail that is not built yet; there are none here.
type Prepared struct{}

// Prepare does nothing here.
func (l Launcher) Prepare() *Prepared { return nil }

// Close does nothing here.
func (*Prepared) Close() {}

func (l Launcher) claim(bool) *Prepared { return nil }

func (*Prepared) cancel() {}

func (*Prepared) start(context.Context, *Plan, Stdio, Launcher) (*Process, error) {
	return nil, &step.Error{Step: "namespaces", Detail: "no backend for " + runtime.GOOS}
}

func (*Process) PID() int { return 0 }

func (*Process) Signal(os.Signal) error { return os.ErrProcessDone }

// ObserveAfresh returns an error: nothing is observed here.
func (*Process) ObserveAfresh() error { return errors.ErrUnsupported }

// KeepOpen does nothing here.
func (*Process) KeepOpen() error { return nil }

func (*Process) Kill() error { return os.ErrProcessDone }

func (*Process) Done() <-chan struct{} { return nil }

func (*Process) Wait() (Exit, error) { return Exit{}, os.ErrProcessDone }

func (*Process) Denials() []policy.Denial { return nil }

func (*Process) HostFailures() []policy.HostFailure { return nil }

func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

// SessionSecrets returns nil: there are no servers.
func SessionSecrets() []policy.Variable { return nil }

// HostListens returns nil: this system does not tell.
func HostListens() func(host string, port int) bool { return nil }

func (*Process) OnNotice(func(Notice)) {}

func (*Process) Plan() *Plan { return nil }

// Secrets returns nil: there are no secrets without an interceptor.
