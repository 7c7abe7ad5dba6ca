package lifecycle

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// front is the client's side of a session under way: what there is one of, however
// many processes stand behind it.
type front struct {
	config  Session
	times   times
	log     zerolog.Logger
	started time.Time
	proxy   *mcpproxy.Proxy
	errs    *errQueue
	written progress // to the client

	asked       flag          // the client has sent a request
	gone        flag          // the client no longer reads
	clientEnded chan struct{} // the client's stdin was read to its end; nil before that was started
	tasks       sync.WaitGroup
	leaveBy     time.Time // zero: nobody is in a hurry
	hurried     flag      // leaveBy is set

	recording sync.Mutex
	record    diagnostics.Record
	said      map[string]bool                                   // see say
	denied    func() ([]diagnostics.Denial, []diagnostics.Hint) // all of the session's, for the record
	habits    habits
	unsaved   chan struct{} // record has something new
	finished  chan struct{}
	saved     chan struct{} // closed after the last time
	toldLost  bool          // of saveRecords
}

// newFront returns the front of a session whose denials denied will tell.
func newFront(s Session, hooks mcpproxy.Hooks, denied func() ([]diagnostics.Denial, []diagnostics.Hint)) *front {
	s = s.withDefaults()
	c := &front{config: s, times: s.times, log: s.Log, started: time.Now(), denied: denied, said: map[string]bool{}}
	c.habits.earlier = s.Earlier
	c.unsaved, c.finished, c.saved = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	c.asked.c, c.gone.c, c.hurried.c = make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.errs = newErrQueue(c.config.Err)
	c.written.dst = patient{c.config.Out}
	c.proxy = mcpproxy.NewProxy(mcpproxy.NewConn(patient{c.config.In}, &c.written, c.limit()), hooks)
	c.record = diagnostics.Record{
		Version: diagnostics.RecordVersion, Time: c.started, Server: c.config.Profile.Server, Tool: c.config.Profile.Tool,
		Warnings: c.config.Warnings,
	}
	go c.saveRecords()
	for _, line := range c.config.Warnings {
		c.errs.Say("mcp-jail: " + line + "\n")
	}
	return c
}

// warn is say, for what belongs into the record too.
func (c *front) warn(line string) {
	c.recording.Lock()
	if len(c.record.Warnings) < maxRecords && !slices.Contains(c.record.Warnings, line) {
		c.record.Warnings = append(slices.Clip(c.record.Warnings), line)
	}
	c.recording.Unlock()
	c.say(line)
}

// say tells a line once in a session: many processes have the same to say.
func (c *front) say(line string) {
	c.recording.Lock()
	known := c.said[line]
	if len(c.said) < maxRecords {
		c.said[line] = true
	}
	c.recording.Unlock()
	if !known {
		c.errs.Say("mcp-jail: " + line + "\n")
	}
}

// goClient starts to read the client.
func (c *front) goClient(read func() error) {
	c.clientEnded = make(chan struct{})
	go func() {
		defer close(c.clientEnded)
		if err := read(); err != nil {
			c.log.Debug().Err(err).Msg("the client's stdin")
		}
	}()
}

// limit is the largest frame.
func (c *front) limit() int64 {
	if mb := c.config.Profile.Limits.MessageMB; mb > 0 {
		return int64(mb) << 20
	}
	return mcpproxy.DefaultLimit
}

// hurry makes everything that is left to do fit into the time of a client that
// has signalled.
func (c *front) hurry() {
	if c.leaveBy.IsZero() {
		c.leaveBy = time.Now().Add(c.times.leave)
	}
	c.hurried.set()
}

// remaining shortens a wait when the session is in a hurry.
func (c *front) remaining(d time.Duration) time.Duration {
	if !c.leaveBy.IsZero() {
		d = min(d, time.Until(c.leaveBy))
	}
	return max(d, 0)
}

// untilStuck waits for done as long as the client takes what it is sent, or can
// be expected to: one that has neither left nor signalled may be stopped or busy,
// and the server itself would have waited for it.
func (c *front) untilStuck(ctx context.Context, ends <-chan os.Signal, done <-chan struct{}) {
	cancelled := ctx.Done()
	for {
		before := c.written.n.Load()
		timer := time.NewTimer(c.remaining(c.times.drain))
		select {
		case <-done:
			timer.Stop()
			return
		case <-ends:
			c.hurry()
		case <-cancelled:
			cancelled = nil
			c.hurry()
		case <-timer.C:
			if !c.leaveBy.IsZero() || c.written.n.Load() == before && c.clientLeft() {
				return
			}
		}
		timer.Stop()
	}
}

// clientLeft reports whether the client has closed its end of our stdin, also
// while nobody reads that.
func (c *front) clientLeft() bool {
	return c.clientEnded == nil || isClosed(c.clientEnded) || hungUp(c.config.In)
}

// hearOut lets a first request of the client's, or its end, count that is there to be
// read and that our reader has not come to. It reports whether a signal came instead.
func (c *front) hearOut(ends <-chan os.Signal) bool {
	if c.asked.isSet() || c.clientEnded == nil || !readable(c.config.In) {
		return false
	}
	timer := time.NewTimer(c.remaining(c.times.idle))
	defer timer.Stop()
	select {
	case <-c.asked.c:
	case <-c.clientEnded:
	case <-timer.C: // no request
	case <-ends:
		c.hurry()
		return true
	}
	return false
}

// listen takes SIGPIPE, before anything is written, and the signals that end a session,
// aside: each is a turn of two threads, and the start need not wait for them. One that
// comes before ends this process, and the kernel what it has started. An ignored signal
// would stay ignored in the server.
func listen() (ends chan os.Signal, stop func()) {
	dropped := make(chan os.Signal, 1)
	if pipe := pipeSignals(); len(pipe) > 0 { // Notify with none would take all
		signal.Notify(dropped, pipe...)
	}
	ends = make(chan os.Signal, 4)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for _, sig := range endSignals() {
			if !signal.Ignored(sig) { // nohup means it
				signal.Notify(ends, sig)
			}
		}
	}()
	return ends, func() {
		<-taken
		signal.Stop(ends)
		signal.Stop(dropped)
	}
}

// finish waits for every goroutine of the session. Those that are stuck in a
// descriptor of the client's are interrupted, if it can be: see the package
// comment. done: the last thing that is of use to anybody.
func (c *front) finish(ctx context.Context, ends <-chan os.Signal, last func()) {
	done := make(chan struct{})
	go func() {
		c.tasks.Wait()
		close(done)
	}()
	c.untilStuck(ctx, ends, done)
	giveUp(done, 0, func() func() {
		c.config.Out.SetWriteDeadline(time.Now())
		return func() { c.config.Out.SetWriteDeadline(time.Time{}) }
	})
	if c.clientEnded != nil {
		giveUp(c.clientEnded, 0, func() func() {
			c.config.In.SetReadDeadline(time.Now())
			return func() { c.config.In.SetReadDeadline(time.Time{}) }
		})
	}
	last()
	close(c.finished)
	<-c.saved
	c.errs.close(c.remaining(300 * time.Millisecond))
}

// progress counts what the client has taken.
type progress struct {
	dst io.Writer
	n   atomic.Int64
}

// Write implements io.Writer, in pieces that a slow reader takes one by one.
func (p *progress) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = p.dst.Write(b[:min(len(b), 64<<10)])
		p.n.Add(int64(m))
		n, b = n+m, b[m:]
	}
	return n, err
}
