// Package session is what a stateful and a stateless session share.
//
// A [Client] is the client of a session: its streams, the answers and warnings that it gets, and
// the record of the session. A [Server] is a process of the server, with its pipes, its stderr and
// its denials, or several of which one replaces the other. toolCheck compares definitions of
// tools with the pins. leakCheck looks for secrets.
//
// The package comment of lifecycle tells what a session does, and when it ends.
package session

import (
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Session says how to run one client session. Only Profile is required.
type Session struct {
	Profile  *policy.Profile
	Launcher Launcher // nil is Jail(confine.Launcher{}), which waives nothing

	// The client: nil is os.Stdin, os.Stdout, os.Stderr. They are not closed.
	In, Out, Err *os.File

	Warnings []string // printed to Err at the start, a line each, and recorded

	// Waived are the lines of WaivedWarnings that Err has already, of the jail in which the server's
	// package was fetched. They are recorded, and not printed again.
	Waived []string

	// Sink gets the record of the session after diagnoses and warnings, and at the end. One goroutine
	// at a time calls it. nil keeps no record.
	Sink func(diagnostics.Record)

	// Lost returns why the last record that Sink got could not be kept, or nil. It is
	// called after each Sink. The first error is written to Err. It may be nil.
	Lost func() error

	// Changed returns a sentence about what the session has changed in the user's files, or "". It
	// is called once, at the end. The sentence is written to Err and recorded. It may be nil.
	Changed func() string

	// Earlier returns the record of the session before. It tells which hosts the server
	// contacts in every session. It is called at most once, and only after a host was
	// refused. It may be nil.
	Earlier func() (diagnostics.Record, bool)

	// ClientNamed gets the name and the version of the client: the clientInfo of its initialize, or
	// of its first modern request. It is called at most once, within a second, by the goroutine of Sink. The client chooses both texts. It may be nil.
	ClientNamed func(name, version string)

	// Known is the part of all evidence that only the caller has: what it knows of the server's line, of
	// its variables, and of this machine. Its host also resolves the symbolic links of roots, which
	// clients may name by other paths than the profile.
	Known diagnostics.Evidence

	// Pins keeps the definitions of the server's tools. The definitions that the server sends are
	// compared with them. With EnforcePins the client does not see definitions that are not pinned.
	// nil compares nothing.
	Pins        Pins
	EnforcePins bool

	// Switches returns which tools are on now. Clients see no others, and their calls are refused. nil: all are on.
	Switches func() policy.Switches

	// Reads has the jail of a stateful server record refused reads.
	Reads bool

	// Asker has the user asked in the client about what the jail refused. nil asks nothing.
	Asker Asker

	// Refresh looks whether the configuration has changed since it was read. It is called for calls
	// of tools and, in a stateless session, before each use of a discovery worker; in a stateful one once a second, too.
	// In a stateless session several goroutines may call it. It may be nil.
	Refresh func() Refreshed

	// Typed is printed once to Err when the client sends a line that is not an MCP message: a
	// person at a terminal may have typed it. "" prints nothing.
	Typed string

	// Fold breaks the long lines of messages on Err, and Rows returns a line of the server as rows that
	// begin with a bar: see show.Rows. Both are nil unless Err is a terminal.
	Fold func(text string) string
	Rows func(line string) string

	// Linger is how long a session whose start failed waits for a first request. 0
	// means 30 s.
	Linger time.Duration

	// Events are told what happens in the session. They may be nil.
	Events *Events

	times times // zero: the defaults; tests shorten them
}

// Events are functions that a session calls.
type Events struct {
	// Begun is called once, before the others, with the name and the version of the client, as far as it gave them.
	Begun func(name, version string)
	// Called gets each use of a tool, resource or prompt that has its answer, was cancelled or is lost, as
	// mcpproxy.Pending.Left does. Several goroutines call it.
	Called func(c *mcpproxy.Call, response *mcpproxy.Envelope)
	// The goroutine of Sink calls Tick once a second, and Ended once, after the last Sink. by is ByClient, ByServer or
	// ByUs.
	Tick  func()
	Ended func(by string)
}

// Who ended a session.
const (
	ByClient = "client"
	ByServer = "server"
	ByUs     = "mcp-jail"
)

// times are the timeouts that users need not set. Most follow from how long clients wait
// for a process before they kill it.
type times struct {
	Term         time.Duration // end-of-file to SIGTERM
	Kill         time.Duration // SIGTERM to SIGKILL
	Signal       time.Duration // a signal from the client to SIGKILL
	leave        time.Duration // a signal from the client to our own exit
	DrainIdle    time.Duration // silence after the exit that ends the draining of a pipe
	DrainTotal   time.Duration // all of the draining
	SlowNote     time.Duration // first request, or start of the jail, to the line that says that it is slow
	SlowRepeat   time.Duration // from one such line to the next
	AfterRefusal time.Duration // from the last refused request to the end of a failed session
	Question     time.Duration // how long a question in the client may stay without an answer
	Automatic    time.Duration // an answer to one that comes sooner is that of a program

	// Of stateful sessions:
	Refresh     time.Duration // the least time between two looks at the configuration: calls may be many thousands a second
	HeirSilence time.Duration // from the last message of an heir in its handshake until it is ready

	// Of stateless sessions:
	SetLevel      time.Duration // how long a worker may take to answer our logging/setLevel
	ExitGrace     time.Duration // how long a worker that has answered may take to end
	DiscoveryIdle time.Duration // idle time that ends a discovery worker
	WarmIdle      time.Duration // time without a call of its tool that ends a warm worker
	Tick          time.Duration // interval of the background work
}

// TimesOf returns the timeouts of a session. Tests shorten them.
func TimesOf(s *Session) *times { return &s.times }

func (s Session) withDefaults() Session {
	if s.In == nil {
		s.In = os.Stdin
	}
	if s.Out == nil {
		s.Out = os.Stdout
	}
	if s.Err == nil {
		s.Err = os.Stderr
	}
	if s.Known.Host == nil {
		s.Known.Host = diagnostics.Unknown{}
	}
	if s.Events == nil {
		s.Events = &Events{func(string, string) {}, func(*mcpproxy.Call, *mcpproxy.Envelope) {}, func() {}, func(string) {}}
	}
	if s.Switches == nil {
		s.Switches = func() policy.Switches { return nil }
	}
	if s.Linger == 0 {
		s.Linger = 30 * time.Second
	}
	times := TimesOf(&s)
	for _, d := range []struct {
		to *time.Duration
		is time.Duration
	}{
		{&times.Term, 5 * time.Second},
		{&times.Kill, 2 * time.Second},
		{&times.Signal, 600 * time.Millisecond},
		{&times.leave, 800 * time.Millisecond}, // and three times the moment of streams.WaitOrInterrupt
		{&times.DrainIdle, 250 * time.Millisecond},
		{&times.DrainTotal, 3 * time.Second},
		{&times.SlowNote, 1500 * time.Millisecond},
		{&times.SlowRepeat, 15 * time.Second},
		{&times.AfterRefusal, 3 * time.Second},
		{&times.Question, 2 * time.Minute},
		{&times.Automatic, 500 * time.Millisecond},
		{&times.Refresh, time.Second},
		{&times.HeirSilence, 300 * time.Millisecond},
		{&times.SetLevel, 2 * time.Second},
		{&times.ExitGrace, 500 * time.Millisecond},
		{&times.DiscoveryIdle, time.Minute},
		{&times.WarmIdle, 10 * time.Minute},
		{&times.Tick, 5 * time.Second},
	} {
		if *d.to == 0 {
			*d.to = d.is
		}
	}
	return s
}
