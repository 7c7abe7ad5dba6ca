// Package lifecycle runs one client session against a server. It decides how many
// processes the server gets, and when they start and end. Package confine starts
// them, mcpproxy moves the messages, diagnostics explains failures.
//
// # A stateful server
//
// [RunStateful] runs one client session against one process. It starts the
// process in its jail, relays until one side ends, and then ends everything:
//
//	client closes stdin   close the server's stdin, relay until it exits,
//	                      SIGTERM after 5 s, SIGKILL of the jail 2 s later
//	client closes stdout  as when it closes stdin, noticed at the next message;
//	                      further output of the server is discarded
//	client dies (the      SIGTERM at once, SIGKILL of the jail 2 s later
//	other ends of both
//	pipes, or of the
//	socket, are closed)
//	SIGTERM, SIGINT,      forward it, SIGKILL of the jail after 600 ms,
//	SIGHUP, ctx           return before 1 s
//	server exits          drain its stdout, answer every open request with a
//	                      classified error, return its status. If the client
//	                      does not read, wait until it leaves or a signal comes
//
// If the server cannot be started, or ends or stays silent before its first
// answer, the session goes on: most clients show only answers, and clients of both
// protocol eras hide the error of their first request. Each further request gets
// the same error until the client closes its stdin or falls silent.
//
// # A server that is started again
//
// Session.Refresh may return a Next: the user wants the server under a newer policy. Then an heir is
// started beside the process, and goes through the client's handshake, its log level, its
// subscriptions and its roots. Nothing that it writes reaches the client before the swap. In a moment
// in which no request is open in either direction, the client's frames are held back; the old
// process is ended, its output is read to its end; the heir takes its place; and the client hears
// that the lists may have changed. Each failure before that leaves the client with the old process.
// Then the next refusal says why.
//
// # A stateless server
//
// [RunStateless] runs one client session in which each tools/call has a process
// of its own, called a worker. A worker runs under the policy of its tool, goes
// through the client's handshake, gets one call, and ends after the answer.
//
//   - Lists are kept, also for later sessions (package answers). mcp-jail itself answers ping and
//     subscriptions, and logging/setLevel for a server with the capability logging.
//     All other requests go to a discovery worker, which runs under the policy of
//     Stateless.Tool(""). Each protocol era has its own discovery worker.
//   - Warm workers can be started before there is a call for them.
//   - A message that two readers could read differently is refused, and so is a
//     call of a tool that is neither listed nor declared: the jail must be that
//     of the tool that the server will run.
//   - When the client closes its stdin, open requests have 5 s for their answers. A
//     signal, a client that has died and a client that has closed its stdout end
//     the session at once.
//   - A worker that has answered has half a second to end by itself. Then it gets
//     SIGTERM, and SIGKILL 600 ms later.
//
// # The discover guard
//
// A client of both eras opens with server/discover. Some legacy servers end on
// it. If it is the first message of a stateful session, mcp-jail protects the
// server from it once: it answers in the server's name, and when the client sends
// more, it starts the server again and replays the frames that followed. A
// stateless session answers in the name of a discovery worker that ends on it.
//
// A server that does not answer is waited for, as for any request: only the client
// knows how long it wants to wait, and the answer may still come.
//
// # Pinned tools
//
// With Session.Pins, the answers to initialize, server/discover and tools/list are
// compared with the pinned definitions before the client gets them: see [Pins]. The first
// complete list is pinned when the client has it. A difference is told once in a session.
// With EnforcePins the client gets an error in place of the answer, and in place of the
// answer to each later list and call.
//
// # Leaks
//
// If Profile.Leaks is "warn" or "block", each message of a server is searched for the secrets of
// the session before it is forwarded: see package leak. The search sees whole frames. Under
// "warn" the frame is forwarded. Under "block" the side that waits for an answer gets an error.
// Kept answers of a stateless server are searched when they are sent. A session
// without a secret has no search, unless Profile.LeakPatterns is set.
//
// # Changes to messages
//
// If Profile.Roots is "narrow" or "advertise", mcp-jail leaves only the roots that the
// server may read in the client's answers to roots/list. With "advertise" it adds the
// profile's Statement to initialize, server/discover and modern tools/call requests. It
// also declares the capability roots for a client without it, and answers roots/list
// itself. A stateful session changes no other message of the client.
//
// # The client's descriptors
//
// The client's descriptors stay in the mode in which they came. O_NONBLOCK belongs
// to the open file, which may be shared with the user's shell, and a proxy that is
// killed could not restore it. A read of a blocking descriptor cannot be
// interrupted. So the goroutine that reads it may outlive RunStateful until the
// client writes or closes, or the program exits. The same is true of a write to a
// client that never reads. With descriptors that support deadlines, no goroutine
// is left. The pipes to the server are our own: non-blocking on our side, blocking
// on the server's.
//
// # Limits
//
//   - A denial is attributed to a call by its time. If calls overlap, each gets it.
//   - The text of a result is read only if the frame is held in memory.
//   - RunStateful and RunStateless catch the signals of the whole program.
//
// # Below this package
//
// Package session has what both kinds of sessions need: the client, the processes of the server,
// pins, leaks and evidence. Packages stateful and stateless are the two kinds, and know nothing of
// each other. The types here are those of session and stateless.
package lifecycle

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateful"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Session says how to run one client session. Only Profile is required.
type Session = session.Session

// Events are functions that a session calls.
type Events = session.Events

// ByUs is for Events.Ended: mcp-jail itself has ended a session.
const ByUs = session.ByUs

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
func CertainReads(ctx context.Context) bool { return session.Reads(ctx) }

// DiagnosedError is the error of a Launcher that knows what to tell the client.
type DiagnosedError = session.DiagnosedError

// Pins keeps the tool definitions of a server from one session to the next.
type Pins = session.Pins

// Asker keeps what the user has answered in the client, in a session that asks there about what the jail refused.
type Asker = session.Asker

// DrawsForms reports whether a client of this name is known to show a form to a person.
func DrawsForms(client string) bool { return session.DrawsForms(client) }

// Refreshed is what Session.Refresh has found.
type Refreshed = session.Refreshed

// Next is a policy under which a stateful server is to be started again.
type Next = session.Next

// Stateless holds what a session needs beyond its Session if each call has a process of
// its own. Only Tool is required.
type Stateless = stateless.Options

// Tool is the policy of the processes of one tool.
type Tool = stateless.Tool

// WaivedWarnings returns a line for each gap of a plan that the user has waived.
func WaivedWarnings(plan *confine.Plan) []string { return session.WaivedWarnings(plan) }

// StartFailure returns the diagnosis and the exit status for a failed start, of which ev tells.
func StartFailure(ev diagnostics.Evidence, err error) (diagnostics.Diagnosis, int) {
	return session.StartFailure(ev, err)
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
