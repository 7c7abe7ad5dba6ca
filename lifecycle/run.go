package lifecycle

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/certain"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateful"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Session says how to run one client session. Only Profile is required.
type Session = session.Session

// Launcher starts the program of a profile. Start returns the errors of confine:
// *confine.GapError and *confine.StartError. Cancelling ctx ends a start that is not
// finished, but no running process.
type Launcher = session.Launcher

// LauncherFunc is a function that implements Launcher.
type LauncherFunc = session.LauncherFunc

// Process is a program in its jail.
type Process = session.Process

// CallObserver is a Process that must know which call it serves.
type CallObserver = session.CallObserver

// CertainReads reports whether the session wants a start whose jail records refused reads
// (confine.Launcher.CertainReads): that of the call after a failure whose cause is only possible.
func CertainReads(ctx context.Context) bool { return certain.Reads(ctx) }

// DiagnosedError is the error of a Launcher that knows what to tell the client.
type DiagnosedError = session.DiagnosedError

// Pins keeps the tool definitions of a server from one session to the next.
type Pins = session.Pins

// Refreshed is what Session.Refresh has found.
type Refreshed = session.Refreshed

// Stateless holds what a session needs beyond its Session if each call has a process of
// its own. Only Tool is required.
type Stateless = stateless.Options

// Tool is the policy of the processes of one tool.
type Tool = stateless.Tool

// WaivedWarnings returns a line for each gap of a plan that the user has waived.
func WaivedWarnings(plan *confine.Plan) []string { return session.WaivedWarnings(plan) }

// GapFailure returns the diagnosis of a start that was refused because of gaps.
func GapFailure(server string, e *confine.GapError) diagnostics.Diagnosis {
	return session.GapFailure(server, e)
}

// Jail returns a Launcher that starts jails.
func Jail(l confine.Launcher) Launcher {
	return LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (Process, error) {
		l.CertainReads = l.CertainReads || CertainReads(ctx)
		proc, err := l.Start(ctx, p, stdio)
		if err != nil {
			return nil, err // not a Process that holds a nil pointer
		}
		return proc, nil
	})
}

func withLauncher(s Session) Session {
	if s.Launcher == nil {
		s.Launcher = Jail(confine.Launcher{})
	}
	return s
}

// RunStateful runs one client session against one process. It returns how the program
// should end: as the server did, by a signal that came before the server ran, with status
// 1 if the server could not be started or gave no first answer in time, or with status 3 if
// its jail could not be built. A DiagnosedError has its own status. err is the error of
// the launcher. The client, stderr and the record have it already.
func RunStateful(ctx context.Context, s Session) (exit confine.Exit, err error) {
	return stateful.Run(ctx, withLauncher(s))
}

// RunStateless runs one client session in which each tools/call has its own process,
// under the policy of its tool. Other requests are answered from kept lists, by a discovery
// worker, or by mcp-jail itself. It returns how the program should end: with 0 when the
// client has left; by the signal that ended it; and with the status of the last failed start,
// as RunStateful does, if no process became ready at all.
func RunStateless(ctx context.Context, s Session, o Stateless) confine.Exit {
	return stateless.Run(ctx, withLauncher(s), o)
}

// Refuse answers each request of a client with a diagnosis and starts nothing. It is for a
// configuration that has an error. It prints the diagnosis to stderr, and needs neither a
// Profile nor a Launcher.
func Refuse(ctx context.Context, s Session, d diagnostics.Diagnosis) { stateful.Refuse(ctx, s, d) }
