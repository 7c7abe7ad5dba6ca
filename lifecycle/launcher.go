package lifecycle

import (
	"context"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Launcher starts the program of a profile. The errors of Start are those of
// confine: *confine.GapError, *confine.StartError. Cancelling ctx ends a start
// that is under way, not a process that runs.
type Launcher interface {
	Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error)
}

// Process is a program in its jail.
type Process interface {
	PID() int
	Signal(os.Signal) error      // to the program
	Kill() error                 // everything in the jail, at once
	Done() <-chan struct{}       // closed when every process of the jail is gone
	Wait() (confine.Exit, error) // waits for Done, and tells how the program ended
	Denials() []confine.Denial   // what the jail recorded so far
	Tell(func(confine.Remark))   // what the jail has to say of itself, from then on as it comes
	Plan() *confine.Plan         // what it was started by; nil where nobody knows
	Secrets() map[string]string  // values, by variable, that nobody is to be shown; not in the jail
}

// LauncherFunc makes a Launcher of a function.
type LauncherFunc func(context.Context, *policy.Profile, confine.Stdio) (Process, error)

// Start implements Launcher.
func (f LauncherFunc) Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
	return f(ctx, p, stdio)
}

// Jail makes a Launcher of confine's.
func Jail(l confine.Launcher) Launcher {
	return LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
		proc, err := l.Start(ctx, p, stdio)
		if err != nil {
			return nil, err // and not a Process that holds a nil pointer
		}
		return proc, nil
	})
}
