package lifecycle

import (
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Session says how to run one client session. Only Profile is required.
type Session struct {
	Profile  *policy.Profile
	Launcher Launcher // nil is Jail(confine.Launcher{}), which waives nothing

	// The client: nil is os.Stdin, os.Stdout, os.Stderr. They are not closed.
	In, Out, Err *os.File

	Warnings []string // printed to Err at the start, a line each, and recorded

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
	// of its first modern request. It is called at most once, on a goroutine of its own after the
	// server's first answer, or at the end. The client chooses both texts. It may be nil.
	ClientNamed func(name, version string)

	// Evidence that only the caller has: see diagnostics.Evidence.
	FromCommandLine bool
	Line            []string
	Declare         func() []string
	File            string
	Install         string
	InstallScripts  string
	Unset           []string
	UserHome        string
	SearchPath      string
	Exists          func(path string) bool
	Executable      func(path string) bool
	Guarded         func(path string, write bool) string
	Shared          func(dir string) string
	Sensitive       func(path string) string
	Try             func(tool string, lines, flags []string) error

	// Canonical resolves the symbolic links of a path: of roots, which clients may name
	// by other paths than the profile, and of paths in evidence. nil leaves paths as
	// they are.
	Canonical func(path string) string

	// Pins keeps the definitions of the server's tools. The definitions that the server sends are
	// compared with them. With EnforcePins the client does not see definitions that are not pinned.
	// nil compares nothing.
	Pins        Pins
	EnforcePins bool

	// Refresh looks whether the configuration has changed since it was read. It is called for calls
	// of tools and, in a stateless session, before each use of a discovery worker. Several goroutines
	// may call it. It may be nil.
	Refresh func() Refreshed

	// Fold breaks the long lines of messages on Err. nil leaves them as they are.
	Fold func(text string) string

	// Linger is how long a session whose start failed waits for a first request. 0
	// means 30 s.
	Linger time.Duration

	// Log is for debugging mcp-jail itself. The zero Logger is off.
	Log zerolog.Logger

	times times // zero: the defaults; tests shorten them
}

// times are the timeouts that users need not set. Most follow from how long clients wait
// for a process before they kill it.
type times struct {
	term         time.Duration // end-of-file to SIGTERM
	kill         time.Duration // SIGTERM to SIGKILL
	signal       time.Duration // a signal from the client to SIGKILL
	leave        time.Duration // a signal from the client to our own exit
	drainIdle    time.Duration // silence after the exit that ends the draining of a pipe
	drainTotal   time.Duration // all of the draining
	slowNote     time.Duration // first request, or start of the jail, to the line that says that it is slow
	slowRepeat   time.Duration // from one such line to the next
	discover     time.Duration // how long a server may ignore an opening server/discover
	afterRefusal time.Duration // from the last refused request to the end of a failed session

	// Of stateless sessions:
	exitGrace     time.Duration // how long a worker that has answered may take to end
	discoveryIdle time.Duration // idle time that ends a discovery worker
	warmIdle      time.Duration // time without a call of its tool that ends a warm worker
	tick          time.Duration // interval of the background work
}

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
	if s.Launcher == nil {
		s.Launcher = Jail(confine.Launcher{})
	}
	if s.Linger == 0 {
		s.Linger = 30 * time.Second
	}
	for _, d := range []struct {
		to *time.Duration
		is time.Duration
	}{
		{&s.times.term, 5 * time.Second},
		{&s.times.kill, 2 * time.Second},
		{&s.times.signal, 600 * time.Millisecond},
		{&s.times.leave, 800 * time.Millisecond}, // and three times the moment of waitOrInterrupt
		{&s.times.drainIdle, 250 * time.Millisecond},
		{&s.times.drainTotal, 3 * time.Second},
		{&s.times.slowNote, 1500 * time.Millisecond},
		{&s.times.slowRepeat, 15 * time.Second},
		{&s.times.discover, 2 * time.Second},
		{&s.times.afterRefusal, 3 * time.Second},
		{&s.times.exitGrace, 500 * time.Millisecond},
		{&s.times.discoveryIdle, time.Minute},
		{&s.times.warmIdle, 10 * time.Minute},
		{&s.times.tick, 5 * time.Second},
	} {
		if *d.to == 0 {
			*d.to = d.is
		}
	}
	return s
}
