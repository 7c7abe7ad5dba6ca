package lifecycle

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// client is the client's side of a running session. A session has one client, however many
// server processes it starts.
type client struct {
	config  Session
	times   times
	log     zerolog.Logger
	started time.Time
	proxy   *mcpproxy.Proxy
	stderr  *stderrQueue
	written countingWriter // to the client
	tools   *toolCheck     // nil: nothing is compared
	leaks   *leakCheck     // nil: nothing is looked for
	logs    clientLogs

	introduction introduction

	requested  event         // the client has sent a request
	gone       event         // the client no longer reads its stdout
	inputEnded chan struct{} // closed at the end of the client's stdin; nil before startReading
	tasks      sync.WaitGroup
	deadline   time.Time // when we have to exit after a signal; zero: no signal came
	shutdown   event     // deadline is set

	recordMu      sync.Mutex
	record        diagnostics.Record
	shownLater    []string                                     // see noteShown
	saidLines     map[string]bool                              // see sayOnce
	allDenials    func() ([]policy.Denial, []diagnostics.Hint) // of the whole session, for the record
	countRefused  func() int                                   // of the different refusals among them
	usual         usualHosts
	unsavedRecord chan struct{} // record has changed
	finished      chan struct{}
	saved         chan struct{} // closed when saveRecords has returned
	warnedLost    bool          // used by saveRecords alone
}

// newClient returns the client side of a session and starts saving its record. denied
// returns the denials of the whole session, and refused how many there are.
func newClient(s Session, hooks mcpproxy.Hooks, denied func() ([]policy.Denial, []diagnostics.Hint), refused func() int) *client {
	s = s.withDefaults()
	c := &client{config: s, times: s.times, log: s.Log, started: time.Now(), allDenials: denied, countRefused: refused, saidLines: map[string]bool{}}
	c.usual.earlier = s.Earlier
	c.unsavedRecord, c.finished, c.saved = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	c.requested.done, c.gone.done, c.shutdown.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.stderr = newStderrQueue(c.config.Err, c.config.Fold)
	c.written.dst = blockingFile{c.config.Out}
	c.proxy = mcpproxy.NewProxy(mcpproxy.NewConn(blockingFile{c.config.In}, &c.written, c.limit()), hooks)
	c.record = diagnostics.Record{
		Version: diagnostics.RecordVersion, Time: c.started, Server: c.config.Profile.Server, Tool: c.config.Profile.Tool,
		Warnings: c.config.Warnings,
	}
	c.tools, c.leaks = newToolCheck(c), newLeakCheck(c)
	go c.saveRecords()
	for _, line := range c.config.Warnings {
		c.stderr.SayLine(line)
	}
	return c
}

// startReading runs read, which reads the client's stdin to its end, on a goroutine.
func (c *client) startReading(read func() error) {
	c.inputEnded = make(chan struct{})
	go func() {
		defer close(c.inputEnded)
		if err := read(); err != nil {
			c.log.Debug().Err(err).Msg("cannot read the client's stdin")
		}
	}()
}

// limit returns the size of the largest frame that is forwarded.
func (c *client) limit() int64 { return messageLimit(c.config.Profile) }

// messageLimit returns the size of the largest frame of a server with this profile.
func messageLimit(p *policy.Profile) int64 {
	if mb := p.Limits.MessageMB; mb > 0 {
		return int64(mb) << 20
	}
	return mcpproxy.DefaultLimit
}

// shortenDeadline makes all remaining waits fit into the time that a client grants after a
// signal.
func (c *client) shortenDeadline() {
	if c.deadline.IsZero() {
		c.deadline = time.Now().Add(c.times.leave)
	}
	c.shutdown.set()
}

// remaining returns d, or the time until the deadline if that is shorter.
func (c *client) remaining(d time.Duration) time.Duration {
	if !c.deadline.IsZero() {
		d = min(d, time.Until(c.deadline))
	}
	return max(d, 0)
}

// waitUnlessStalled waits for done while the client reads, or may read again. A client
// that has neither left nor signalled may be stopped or busy; a server without a jail
// would wait for it too.
func (c *client) waitUnlessStalled(ctx context.Context, ends <-chan os.Signal, done <-chan struct{}) {
	cancelled := ctx.Done()
	for {
		before := c.written.n.Load()
		timer := time.NewTimer(c.remaining(c.times.drainTotal))
		select {
		case <-done:
			timer.Stop()
			return
		case <-ends:
			c.shortenDeadline()
		case <-cancelled:
			cancelled = nil
			c.shortenDeadline()
		case <-timer.C:
			if !c.deadline.IsZero() || c.written.n.Load() == before && c.hasLeft() {
				return
			}
		}
		timer.Stop()
	}
}

// hasLeft reports whether the client has closed its end of our stdin. It does not need
// stdin to be read to its end.
func (c *client) hasLeft() bool {
	return c.inputEnded == nil || isClosed(c.inputEnded) || peerClosed(c.config.In)
}

// readLastRequest gives our reader a moment to read a first request, or the end of stdin, if that
// is in the pipe already. It reports whether a signal came instead.
func (c *client) readLastRequest(ends <-chan os.Signal) bool {
	if c.requested.isSet() || c.inputEnded == nil || !readable(c.config.In) {
		return false
	}
	timer := time.NewTimer(c.remaining(c.times.drainIdle))
	defer timer.Stop()
	select {
	case <-c.requested.done:
	case <-c.inputEnded:
	case <-timer.C: // no request
	case <-ends:
		c.shortenDeadline()
		return true
	}
	return false
}

// finish waits for every goroutine of the session. It interrupts those that are blocked on
// a descriptor of the client's, where the descriptor supports deadlines (see the package
// comment). last runs before the last record is saved.
func (c *client) finish(ctx context.Context, ends <-chan os.Signal, last func()) {
	done := make(chan struct{})
	go func() {
		c.tasks.Wait()
		close(done)
	}()
	c.waitUnlessStalled(ctx, ends, done)
	waitOrInterrupt(done, 0, func() func() {
		c.config.Out.SetWriteDeadline(time.Now())
		return func() { c.config.Out.SetWriteDeadline(time.Time{}) }
	})
	if c.inputEnded != nil {
		waitOrInterrupt(c.inputEnded, 0, func() func() {
			c.config.In.SetReadDeadline(time.Now())
			return func() { c.config.In.SetReadDeadline(time.Time{}) }
		})
	}
	c.introduce()
	last()
	close(c.finished)
	<-c.saved
	c.stderr.close(c.remaining(500*time.Millisecond), c.remaining(c.times.drainTotal))
}
