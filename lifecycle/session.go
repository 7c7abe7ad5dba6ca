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
	Launcher Launcher // nil is the strict one: Jail(confine.Launcher{})

	// The client: nil is os.Stdin, os.Stdout, os.Stderr. They are not closed.
	In, Out, Err *os.File

	Warnings []string // printed to Err at the start, a line each, and recorded

	// Sink is given the record of the session whenever a diagnosis was added, and
	// at the end. It is called by one goroutine at a time. nil keeps no record.
	Sink func(diagnostics.Record)

	// Lost tells why what Sink was given last could not be kept, nil when it was. It is
	// asked after each Sink, and said on Err once. It may be nil.
	Lost func() error

	// Earlier returns the record of the session before. It is asked at most once, and
	// only when a host was refused: what the server asks for in every session is told
	// from what matters. It may be nil.
	Earlier func() (diagnostics.Record, bool)

	// What only the caller knows of the evidence: see diagnostics.Evidence.
	InPlace    bool
	Line       []string
	Declare    func() []string
	Unset      []string
	UserHome   string
	SearchPath string
	Exists     func(path string) bool
	Executable func(path string) bool

	// Canonical resolves the symbolic links of a path, for roots that clients name
	// by other paths than the profile, and as evidence. nil takes paths as they are.
	Canonical func(path string) string

	// Linger is how long a session whose start failed waits for the first request
	// to answer; 0 means 30 s.
	Linger time.Duration

	// Log is for whoever debugs mcp-jail itself; the zero Logger is off.
	Log zerolog.Logger

	times times // zero: the defaults; tests shorten them
}

// times are the time-outs that no user needs to set: what clients grant a process
// before they kill it, and what is left of that.
type times struct {
	term         time.Duration // end-of-file to SIGTERM
	kill         time.Duration // SIGTERM to SIGKILL
	signal       time.Duration // a signal of the client's to SIGKILL
	leave        time.Duration // a signal of the client's to our own exit
	drainIdle    time.Duration // silence on stdout, after the exit, that ends the draining
	drainTotal   time.Duration // all of the draining
	slowNote     time.Duration // first request to the note that the server is slow
	slowRepeat   time.Duration // from one such note to the next
	discover     time.Duration // for which a server may ignore an opening server/discover
	afterRefusal time.Duration // after the last request that was refused

	// Where each call has a process of its own:
	exitGrace     time.Duration // for a process that has answered to end by itself
	discoveryIdle time.Duration // of silence that ends a discovery process
	warmIdle      time.Duration // without a call of its tool that ends a spare
	tick          time.Duration // of the background
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
		{&s.times.leave, 800 * time.Millisecond}, // and three times giveUp's moment
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
