package session

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Client is the client's side of a running session. A session has one client, however many
// server processes it starts.
type Client struct {
	Config  Session
	Times   times
	Started time.Time
	Proxy   *mcpproxy.Proxy
	Stderr  *streams.Stderr
	written streams.CountingWriter // to the client
	Tools   *toolCheck             // nil: nothing is compared
	Leaks   *leakCheck             // nil: nothing is looked for
	Logs    clientLogs

	Questions *Questions // nil: nothing is asked

	Introduction introduction

	Requested  Event         // the client has sent a request
	Gone       Event         // the client no longer reads its stdout
	InputEnded chan struct{} // closed at the end of the client's stdin; nil before StartReading
	Tasks      sync.WaitGroup
	deadline   time.Time // when we must exit after a signal; zero: no signal came
	Shutdown   Event     // deadline is set
	EndedBy    string    // see Events.Ended
	begun      sync.Once

	Record record
	said   saidLines
	usual  usualHosts
	kept   keptPolicy
}

// NewClient returns the client side of a session and starts saving its record. denied
// returns the denials of the whole session, and refused how many there are.
func NewClient(s Session, hooks mcpproxy.Hooks, denied func() []policy.Denial, refused func() int) *Client {
	s = s.withDefaults()
	c := &Client{Config: s, Times: s.times, Started: time.Now(), EndedBy: ByClient}
	c.Introduction.named, c.usual.earlier, c.said.said = s.ClientNamed, s.Earlier, map[string]bool{}
	c.Requested.Done, c.Gone.Done, c.Shutdown.Done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.Stderr = streams.NewStderr(c.Config.Err, c.Config.Fold)
	c.written.Dst, c.written.Large = streams.Blocking{File: c.Config.Out}, func() { streams.Enlarge(c.Config.Out, streams.ClientPipe) }
	c.Proxy = mcpproxy.NewProxy(mcpproxy.NewConn(streams.Blocking{File: c.Config.In}, &c.written, c.Limit()), hooks)
	c.Proxy.Requests.Left = c.called
	c.Record = record{
		client: c, denials: denied, refused: refused,
		changed: make(chan struct{}, 1), Finished: make(chan struct{}), Saved: make(chan struct{}),
		Record: diagnostics.Record{
			Version: diagnostics.RecordVersion, Time: c.Started, Server: c.Config.Profile.Server, Tool: c.Config.Profile.Tool,
			Warnings: c.Config.Warnings, Waived: c.Config.Waived,
		},
	}
	for _, line := range c.Config.Waived {
		c.said.first(cutLine(line))
	}
	c.Tools, c.Leaks, c.Questions = newToolCheck(c), newLeakCheck(c), newQuestions(c)
	go c.Record.run()
	for _, line := range c.Config.Warnings {
		c.Stderr.SayLine(line)
	}
	return c
}

// begin calls Events.Begun, if it was not called.
func (c *Client) begin() {
	c.begun.Do(func() { c.Config.Events.Begun(c.Introduction.name()) })
}

// called tells of a request that has left the table of those that are open.
func (c *Client) called(call *mcpproxy.Call, response *mcpproxy.Envelope) {
	switch string(call.Method) {
	case "tools/call", "resources/read", "prompts/get":
		c.begin()
		c.Config.Events.Called(call, response)
	}
}

// StartReading runs read, which reads the client's stdin to its end, on a goroutine.
func (c *Client) StartReading(read func() error) {
	c.InputEnded = make(chan struct{})
	if c.Questions != nil {
		c.Tasks.Go(func() { c.Questions.watch(c.InputEnded) })
	}
	go func() {
		defer close(c.InputEnded)
		_ = read() // its end is the end of the session, however it came
	}()
}

// Limit returns the size of the largest frame that is forwarded.
func (c *Client) Limit() int64 { return MessageLimit(c.Config.Profile) }

// MessageLimit returns the size of the largest frame of a server with this profile.
func MessageLimit(p *policy.Profile) int64 {
	if mb := p.Limits.MessageMB; mb > 0 {
		return int64(mb) << 20
	}
	return mcpproxy.DefaultLimit
}

// ShortenDeadline makes all remaining waits fit into the time that a client grants after a
// signal.
func (c *Client) ShortenDeadline() {
	if c.deadline.IsZero() {
		c.deadline = time.Now().Add(c.Times.leave)
	}
	c.Shutdown.Set()
}

// Remaining returns d, or the time until the deadline if that is shorter.
func (c *Client) Remaining(d time.Duration) time.Duration {
	if !c.deadline.IsZero() {
		d = min(d, time.Until(c.deadline))
	}
	return max(d, 0)
}

// WaitUnlessStalled waits for done while the client reads, or may read again. A client
// that has neither left nor signalled may be stopped or busy; a server without a jail
// would wait for it too.
func (c *Client) WaitUnlessStalled(ctx context.Context, ends <-chan os.Signal, done <-chan struct{}) {
	cancelled := ctx.Done()
	for {
		// As long as this count grows, the client reads.
		before := c.written.N.Load()
		timer := time.NewTimer(c.Remaining(c.Times.DrainTotal))
		select {
		case <-done:
			timer.Stop()
			return
		case <-ends:
			c.ShortenDeadline()
		case <-cancelled:
			cancelled = nil
			c.ShortenDeadline()
		case <-timer.C:
			if !c.deadline.IsZero() || c.written.N.Load() == before && c.hasLeft() {
				return
			}
		}
		timer.Stop()
	}
}

func (c *Client) hasLeft() bool {
	return c.InputEnded == nil || IsClosed(c.InputEnded) || streams.PeerClosed(c.Config.In)
}

// ReadLastRequest gives our reader a moment to read a first request, or the end of stdin, if that
// is in the pipe already. It reports whether a signal came instead.
func (c *Client) ReadLastRequest(ends <-chan os.Signal) bool {
	if c.Requested.IsSet() || c.InputEnded == nil || !streams.Readable(c.Config.In) {
		return false
	}
	timer := time.NewTimer(c.Remaining(c.Times.DrainIdle))
	defer timer.Stop()
	select {
	case <-c.Requested.Done:
	case <-c.InputEnded:
	case <-timer.C: // no request
	case <-ends:
		c.ShortenDeadline()
		return true
	}
	return false
}

// Finish waits for every goroutine of the session. It interrupts those that are blocked on
// a descriptor of the client's, where the descriptor supports deadlines (see the package
// comment). last runs before the last record is saved.
func (c *Client) Finish(ctx context.Context, ends <-chan os.Signal, last func()) {
	if c.Questions != nil {
		c.Questions.quit.Set()
	}
	done := make(chan struct{})
	go func() {
		c.Tasks.Wait()
		close(done)
	}()
	c.WaitUnlessStalled(ctx, ends, done)
	streams.WaitOrInterrupt(done, func() func() {
		c.Config.Out.SetWriteDeadline(time.Now())
		return func() { c.Config.Out.SetWriteDeadline(time.Time{}) }
	})
	if c.InputEnded != nil {
		streams.WaitOrInterrupt(c.InputEnded, func() func() {
			c.Config.In.SetReadDeadline(time.Now())
			return func() { c.Config.In.SetReadDeadline(time.Time{}) }
		})
	}
	last()
	close(c.Record.Finished)
	<-c.Record.Saved
	c.Stderr.Close(c.Remaining(500*time.Millisecond), c.Remaining(c.Times.DrainTotal))
}

// Event is something that happens once. done is closed when it has happened.
type Event struct {
	once sync.Once
	Done chan struct{}
}

func (e *Event) Set() {
	e.once.Do(func() { close(e.Done) })
}

func (e *Event) IsSet() bool { return IsClosed(e.Done) }

// IsClosed reports whether c is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// onceTime is a time that is set once.
type onceTime struct{ at atomic.Pointer[time.Time] }

func (m *onceTime) Set() {
	if m.at.Load() == nil {
		now := time.Now()
		m.at.CompareAndSwap(nil, &now)
	}
}

// ExitText describes an exit in a message.
func ExitText(e confine.Exit) string {
	if e.Signal != 0 {
		return "signal " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Exit statuses for a session whose server gives none (docs/reference.md, "Exit
// statuses").
const (
	StatusFailed = 1 // the server failed
	statusJail   = 3 // no jail could be built that enforces the policy
)

// EndedBy returns the exit of a session that a signal has ended, with the status that a
// shell gives it.
func EndedBy(s os.Signal) confine.Exit {
	if n, ok := s.(syscall.Signal); ok {
		return confine.Exit{Code: 128 + int(n), Signal: n}
	}
	return confine.Exit{Code: StatusFailed}
}
