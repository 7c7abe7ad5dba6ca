package session

import (
	"context"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Launcher starts the program of a profile. Start returns the errors of confine:
// *confine.GapError and *confine.StartError. Cancelling ctx ends a start that is not
// finished, but no running process.
type Launcher interface {
	Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error)
}

// Process is a program in its jail.
type Process interface {
	PID() int
	Signal(os.Signal) error             // to the program
	Kill() error                        // everything in the jail, at once
	Done() <-chan struct{}              // closed when every process of the jail is gone
	Wait() (confine.Exit, error)        // waits for Done, and tells how the program ended
	Denials() []policy.Denial           // what the jail has refused so far
	HostFailures() []policy.HostFailure // granted hosts that this machine could not reach
	OnNotice(func(confine.Notice))      // registers a function for the jail's remarks, past and future
	// Unanswered returns the ports of the jail's own loopback to which the server connected since a
	// time, while no program of the jail listened there.
	Unanswered(since time.Time) []policy.Unanswered
	Plan() *confine.Plan // what the jail enforces; nil if that is not known
	// Mounts returns what is mounted in the jail now, and whether that has all that the plan mounts.
	Mounts() (list []byte, whole bool)
}

// CallObserver is a Process that must know which call it serves. CallBegins is called before the
// process gets a tools/call. beside says that the process has other calls, which are neither
// answered nor cancelled. CallEnds is called before the client gets the answer to the last of them.
type CallObserver interface {
	CallBegins(tool string, beside bool)
	CallEnds()
}

// LauncherFunc is a function that implements Launcher.
type LauncherFunc func(context.Context, *policy.Profile, confine.Stdio) (Process, error)

// Start implements Launcher.
func (f LauncherFunc) Start(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
	return f(ctx, p, stdio)
}

// DiagnosedError is the error of a Launcher that knows what to tell the client.
type DiagnosedError struct {
	Diagnosis  diagnostics.Diagnosis
	ExitStatus int
}

func (e *DiagnosedError) Error() string { return e.Diagnosis.What }
