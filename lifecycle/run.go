package lifecycle

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Exit statuses for a server that has none of its own (docs/reference.md "Exit statuses").
const (
	statusFailed = 1 // the server failed
	statusJail   = 3 // no jail here that holds the policy
)

// run is one session under way.
type run struct {
	Session
	started time.Time
	proxy   *mcpproxy.Proxy
	link    link
	errs    *errQueue
	redact  *diagnostics.Redactor
	tail    *diagnostics.Tail
	written progress     // to the client
	telling atomic.Int64 // bytes of ours that wait for the server: see tell

	pipes *pipes
	procs procs

	statement []byte      // what messages tell the server of its limits; nil: nothing
	roots     string      // the mode
	rootsOurs atomic.Bool // we have declared the capability in the client's name

	asked    flag          // the client has sent a request
	asks     chan struct{} // it has sent one before the first answer
	declined chan struct{} // the server has answered server/discover with an error
	answered flag          // the server has given its first answer
	gone     flag          // the client no longer reads
	again    chan struct{} // a request was refused

	clientEnded chan struct{} // RunClient has returned; nil before it was started
	tasks       sync.WaitGroup
	leaveBy     time.Time // zero: nobody is in a hurry

	lastJunk  time.Time // of the server's pump
	recording sync.Mutex
	record    diagnostics.Record
	unsaved   chan struct{} // record has something new
	finished  chan struct{}
	saved     chan struct{} // closed after the last time
}

func newRun(s Session) *run {
	r := &run{Session: s.withDefaults(), started: time.Now(), again: make(chan struct{}, 1), asks: make(chan struct{}, 1), declined: make(chan struct{}, 1)}
	if r.Profile == nil {
		r.Profile = &policy.Profile{}
	}
	r.unsaved, r.finished, r.saved = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	r.asked.c, r.answered.c, r.gone.c = make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.link.shield.init()
	if r.roots = r.Profile.Roots; r.roots == "" {
		r.roots = rootsOff
	}
	if r.Profile.Advertise {
		r.statement = r.Profile.Statement()
	}
	r.errs = newErrQueue(r.Err)
	r.redact = diagnostics.NewRedactor(r.Profile.Env)
	r.tail = diagnostics.NewTail(r.redact)
	r.written.dst = patient{r.Out}
	r.proxy = mcpproxy.NewProxy(mcpproxy.NewConn(patient{r.In}, &r.written, r.limit()), r.hooks())
	r.link.refused = func(d diagnostics.Diagnosis) {
		r.refuse(d)
		select {
		case r.again <- struct{}{}:
		default:
		}
	}
	r.record = diagnostics.Record{
		Version: diagnostics.RecordVersion, Time: r.started, Server: r.Profile.Server, Tool: r.Profile.Tool,
		Profile: diagnostics.Digest(r.Profile), Warnings: r.Warnings,
	}
	go r.saveRecords()
	for _, line := range r.Warnings {
		r.errs.Say("mcp-jail: " + line + "\n")
	}
	return r
}

// accepted tells, at each start, which gaps of the plan the user has accepted, and
// first of all that there are no namespaces.
func (r *run) accepted(plan *confine.Plan) {
	if plan == nil {
		return
	}
	var lines []string
	if plan.Bare.Answer == confine.No {
		lines = append(lines, "warning: this server runs without namespaces, held by Landlock and seccomp alone: "+plan.Bare.Detail)
	}
	for _, g := range plan.Gaps {
		if g.Waived {
			lines = append(lines, fmt.Sprintf("warning: not enforced (waived): %s: %s: %s", g.Axis, g.What, g.Why))
		}
	}
	r.recording.Lock()
	r.record.Waived = lines
	r.recording.Unlock()
	for _, line := range lines {
		r.errs.Say("mcp-jail: " + line + "\n")
		r.Log.Warn().Str("server", r.Profile.Server).Msg(strings.TrimPrefix(line, "warning: "))
	}
}

// limit is the largest frame.
func (r *run) limit() int64 {
	if mb := r.Profile.Limits.MessageMB; mb > 0 {
		return int64(mb) << 20
	}
	return mcpproxy.DefaultLimit
}

// listen takes the signals that end a session, and SIGPIPE: an ignored signal
// would stay ignored in the server.
func listen() (ends chan os.Signal, stop func()) {
	ends = make(chan os.Signal, 4)
	for _, sig := range endSignals() {
		if !signal.Ignored(sig) { // nohup means it
			signal.Notify(ends, sig)
		}
	}
	dropped := make(chan os.Signal, 1)
	if pipe := pipeSignals(); len(pipe) > 0 { // Notify with none would take all
		signal.Notify(dropped, pipe...)
	}
	return ends, func() {
		signal.Stop(ends)
		signal.Stop(dropped)
	}
}

// goClient starts to read the client.
func (r *run) goClient() {
	r.clientEnded = make(chan struct{})
	go func() {
		defer close(r.clientEnded)
		if err := r.proxy.RunClient(&r.link); err != nil {
			r.Log.Debug().Err(err).Msg("the client's stdin")
		}
	}()
}

// linger answers every request with d until the client has closed its stdin, or
// has been silent for long enough: errors on server/discover are swallowed by
// dual-era clients, so the next request needs the same answer.
func (r *run) linger(ctx context.Context, ends <-chan os.Signal, d diagnostics.Diagnosis) {
	r.link.fail(d)
	if r.clientEnded == nil {
		r.goClient()
	}
	r.tasks.Go(func() { r.refuse(d) })
	if info, err := r.In.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return // somebody at a terminal has read it on stderr
	}
	wait := r.Linger
	if r.asked.isSet() {
		wait = r.times.quiet
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-r.clientEnded:
			return
		case <-ends:
			r.hurry()
			return
		case <-ctx.Done():
			r.hurry()
			return
		case <-timer.C:
			return
		case <-r.again:
			timer.Reset(r.times.quiet)
		}
	}
}

// hurry makes everything that is left to do fit into the time of a client that
// has signalled.
func (r *run) hurry() {
	if r.leaveBy.IsZero() {
		r.leaveBy = time.Now().Add(r.times.leave)
	}
}

// remaining shortens a wait when the session is in a hurry.
func (r *run) remaining(d time.Duration) time.Duration {
	if !r.leaveBy.IsZero() {
		d = min(d, time.Until(r.leaveBy))
	}
	return max(d, 0)
}

// finish waits for every goroutine of the session. Those that are stuck in a
// descriptor of the client's are interrupted, if it can be: see the package
// comment.
func (r *run) finish(ctx context.Context, ends <-chan os.Signal) {
	r.link.shield.up.set()
	done := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(done)
	}()
	r.untilStuck(ctx, ends, done)
	giveUp(done, 0, func() func() {
		r.Out.SetWriteDeadline(time.Now())
		return func() { r.Out.SetWriteDeadline(time.Time{}) }
	})
	if r.clientEnded != nil {
		giveUp(r.clientEnded, 0, func() func() {
			r.In.SetReadDeadline(time.Now())
			return func() { r.In.SetReadDeadline(time.Time{}) }
		})
	}
	if r.pipes != nil {
		r.pipes.closeOurs()
	}
	close(r.finished)
	<-r.saved
	r.errs.close(r.remaining(300 * time.Millisecond))
}

// untilStuck waits for done as long as the client takes what it is sent, or can
// be expected to: one that has neither left nor signalled may be stopped or busy,
// and the server itself would have waited for it.
func (r *run) untilStuck(ctx context.Context, ends <-chan os.Signal, done <-chan struct{}) {
	cancelled := ctx.Done()
	for {
		before := r.written.n.Load()
		timer := time.NewTimer(r.remaining(r.times.drain))
		select {
		case <-done:
			timer.Stop()
			return
		case <-ends:
			r.hurry()
		case <-cancelled:
			cancelled = nil
			r.hurry()
		case <-timer.C:
			if !r.leaveBy.IsZero() || r.written.n.Load() == before && r.clientLeft() {
				return
			}
		}
		timer.Stop()
	}
}

// clientLeft reports whether the client has closed its end of our stdin, also
// while nobody reads that.
func (r *run) clientLeft() bool {
	return r.clientEnded == nil || isClosed(r.clientEnded) || hungUp(r.In)
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

// flag is something that happens once.
type flag struct {
	once sync.Once
	c    chan struct{}
}

func (f *flag) set() { f.once.Do(func() { close(f.c) }) }

func (f *flag) isSet() bool { return isClosed(f.c) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// statusOf is what a shell makes of a signal.
func statusOf(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return statusFailed
}
