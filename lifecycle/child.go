package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// child is one process of a stateless server, from its start to its end.
type child struct {
	instance
	session *perCall
	proc    Process
	conn    *mcpproxy.Conn
	began   time.Time
	hello   *hello // the handshake that it goes through; nil: none
	tool    string // "" for the discovery
	spare   bool   // it was started before there was a call for it

	mu     sync.Mutex
	work   map[string]*request // by id
	own    map[string]chan told
	active bool      // a request of the client has been sent to it
	used   time.Time // when something was asked last, or answered

	out   outbox
	ended chan struct{} // it is gone, and all it said was read
	exit  confine.Exit
	left  int // bytes of its stdin that it has not read
}

// spawn starts a process. When it cannot be started the client is to be told d.
func (p *perCall) spawn(ctx context.Context, tool string, t Tool, h *hello, spare bool) (c *child, d *diagnostics.Diagnosis) {
	c = &child{session: p, tool: tool, hello: h, spare: spare, began: time.Now(), work: map[string]*request{}, own: map[string]chan told{}, ended: make(chan struct{})}
	c.init(p.front, t.Profile)
	c.stateless, c.unset = true, t.Unset
	c.quiet.Store(spare)
	for _, w := range t.Warnings {
		p.say(w)
	}
	pipes, err := newPipes()
	if err == nil {
		c.pipes = pipes
		c.proc, err = p.Launcher.Start(ctx, t.Profile, pipes.theirs)
		pipes.closeTheirs()
		if err != nil {
			pipes.closeOurs()
		}
	}
	switch {
	case ctx.Err() != nil:
		if err == nil {
			c.proc.Kill()
			c.proc.Wait()
			pipes.closeOurs()
		}
		return nil, &diagnostics.Diagnosis{Code: diagnostics.CodeDied, Stage: diagnostics.StageExec, Server: p.name, Tool: tool, What: "nobody waits for it any more"}
	case err != nil:
		failed, status := c.startFailure(err)
		p.mu.Lock()
		p.status = status
		p.mu.Unlock()
		return nil, &failed
	}
	c.procs.set(c.proc)
	p.accepted(c.proc.Plan())
	written := &progress{dst: pipes.stdin}
	c.conn = mcpproxy.NewConn(pipes.stdout, written, p.limit())
	c.out.init(written)
	p.mu.Lock()
	p.children[c] = true
	p.mu.Unlock()
	p.tasks.Go(c.live)
	return c, nil
}

// live reads what the process says until it has ended.
func (c *child) live() {
	p := c.session
	var pumps sync.WaitGroup
	pumps.Go(c.read)
	pumps.Go(func() { c.pumpStderr(c.pipes.stderr, c.shows) })
	pumps.Go(func() {
		c.out.write(c.conn)
		c.pipes.stdin.Close()
	})
	<-c.proc.Done()
	c.proc.Kill() // whatever the program has left behind
	exit, err := c.proc.Wait()
	c.Log.Debug().Str("tool", c.tool).Int("code", exit.Code).Err(err).Msg("a process has ended")
	c.exit, c.left = exit, unread(c.pipes.stdin)
	c.out.close()
	c.pipes.stderr.finish(p.times.idle, p.times.drain)
	c.pipes.stdout.finish(p.times.idle, p.times.drain)
	pumps.Wait()
	c.pipes.closeOurs()
	p.withdrawAll(c)
	p.forget(c)
	close(c.ended)
}

// read takes what the process says to where it belongs.
func (c *child) read() {
	hooks := mcpproxy.Hooks{
		Junk:      c.junk,
		Oversized: func(_ mcpproxy.Side, f *mcpproxy.Frame) { c.unfit(f, c.tooLarge(mcpproxy.FromServer, f)) },
	}
	hooks.Receive(c.conn.Reader, func(f *mcpproxy.Frame) error {
		switch {
		case f.Flaws.Ambiguous():
			// Who asked must not be decided by which of two readings is taken.
			c.unfit(f, diagnostics.Diagnosis{
				Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: c.session.name, Tool: c.tool,
				What: fmt.Sprintf("server %q: a message of it can be read in more than one way", c.session.name),
			})
		case f.Batch:
			parts, _ := f.Split()
			for _, part := range parts {
				c.heard(part)
				part.Close()
			}
		default:
			c.heard(f)
		}
		return nil
	})
}

// shows reports whether the client is to see what the process writes to its stderr:
// not what each says alike while it starts. That is told when something fails.
func (c *child) shows() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active || c.tool == ""
}

// unfit answers in place of an answer that cannot be passed on.
func (c *child) unfit(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	said := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if waits := c.waits(e); waits != nil {
			said = true
			waits <- told{unfit: &d}
		} else if rq := c.take(e); rq != nil {
			said = true
			d.Tool = rq.tool
			c.note(d)
			c.session.fail(rq, d)
		} else if e.Kind() == mcpproxy.Request && e.Trackable() {
			said = true
			c.note(d)
			c.post(mcpproxy.Parse(d.ErrorFrame(e.ID)))
		}
	}
	if !said {
		c.errs.Say("mcp-jail: " + d.What + "; it was dropped\n")
	}
}

// take removes the request that a message answers, if it is one of this process: no
// process can answer what another was asked.
func (c *child) take(e *mcpproxy.Envelope) *request {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rq := c.work[mcpproxy.IDKey(e.ID)]
	delete(c.work, mcpproxy.IDKey(e.ID))
	return rq
}

// waits removes the place where the answer to a request of our own is waited for.
func (c *child) waits(e *mcpproxy.Envelope) chan told {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.own[mcpproxy.IDKey(e.ID)]
	delete(c.own, mcpproxy.IDKey(e.ID))
	return waits
}

// release forgets a request that somebody else has answered, or that was cancelled.
func (c *child) release(rq *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.work[rq.key()] == rq {
		delete(c.work, rq.key())
	}
	c.used = time.Now()
}

// heard takes one message of the process.
func (c *child) heard(f *mcpproxy.Frame) {
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Response:
		c.answered(f, e)
	case mcpproxy.Request:
		if c.ownAnswer(e, c.conn) {
			return
		}
		if !c.session.pass(c, f, e) {
			line := append([]byte(`{"jsonrpc":"2.0","id":`), e.ID...)
			c.post(mcpproxy.Parse(append(line, `,"error":{"code":-32603,"message":"mcp-jail: too many requests wait for the client"}}`...)))
			return
		}
		c.session.sent(c.proxy.Client.Send(f))
	case mcpproxy.Notification:
		if c.relays(f, e) {
			c.session.sent(c.proxy.Client.Send(f))
		}
	}
}

// answered takes an answer of the process.
func (c *child) answered(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if len(e.Own) > 0 {
		forged(f, e)
		if line, whole := f.AppendTo(nil); whole { // nor is it to be kept
			f = mcpproxy.Parse(line)
			e = &f.Messages[0]
		}
	}
	if waits := c.waits(e); waits != nil {
		if f.Slice(e.Self) == nil {
			waits <- told{unfit: c.unheld(f)}
		} else {
			waits <- told{frame: f.Clone()}
		}
		return
	}
	rq := c.take(e)
	if rq == nil {
		c.Log.Debug().Str("id", string(e.ID)).Msg("an answer that nobody waits for")
		return
	}
	if rq.keep != nil {
		rq.keep(f, e)
	}
	call := rq.call()
	switch {
	case rq.method == "tools/call":
		c.callAnswered(f, e, call)
	case e.Error.Present() && isDiscovery(rq.method) && !isProbeAnswer(rq.method, string(e.Code)):
		ev := c.evidence(diagnostics.StageList, call, time.Time{})
		ev.Text = textOf(f, e)
		c.report(ev)
	}
	c.session.answer(rq, f)
}

// relays reports whether a notification of the process is for the client: of what a
// process says to nobody's request, before its own or behind it, nothing is. That
// lists have changed is said by us, when they have.
func (c *child) relays(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	switch string(e.Method) {
	case "notifications/cancelled":
		return c.session.withdrawn(c, f, e)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if c.tool == "" {
			c.session.recheck(c.hello.eraOf())
		}
		return false
	case "notifications/resources/updated", "notifications/subscriptions/acknowledged":
		return false
	case "notifications/progress":
		return c.owns(e.Token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.work) > 0 || c.active && c.tool == ""
}

// owns reports whether a progress token is that of a request which the process works
// on: of others' it has nothing to say.
func (c *child) owns(token []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rq := range c.work {
		if t := rq.frame.Messages[0].Token; t != nil && mcpproxy.IDKey(t) == mcpproxy.IDKey(token) {
			return true
		}
	}
	return false
}

// post sends the process a message of somebody else's, behind what waits already.
func (c *child) post(f *mcpproxy.Frame) { c.out.put(f, nil) }

// assign makes a request the process's, and sends it: at tells where. It is nil when
// the request has been answered or cancelled meanwhile.
func (c *child) assign(rq *request) (at *place) {
	p := c.session
	p.mu.Lock()
	if p.requests[rq.key()] != rq {
		p.mu.Unlock()
		return nil
	}
	rq.child = c
	f := rq.frame.Clone() // while nobody can close it
	c.mu.Lock()
	c.work[rq.key()] = rq
	c.active = true
	c.mu.Unlock()
	p.mu.Unlock()
	c.quiet.Store(false)
	c.tellLimits(f, &f.Messages[0])
	at = new(place)
	c.out.put(f, at)
	return at
}

var (
	errEnded   = errors.New("the process has ended")
	errUnheard = errors.New("the process has ended and not read what it was asked")
	errSilent  = errors.New("the process is silent")
)

// told is what has become of a request of our own: an answer that is held in memory,
// or why it cannot be used.
type told struct {
	frame *mcpproxy.Frame
	unfit *diagnostics.Diagnosis
}

// Error implements error.
func (t told) Error() string { return t.unfit.What }

// take returns the answer, if it is one.
func (t told) take() (*mcpproxy.Frame, error) {
	if t.unfit != nil {
		return nil, t
	}
	return t.frame, nil
}

// unheld is the diagnosis of an answer to us that is beyond what is held in memory.
func (c *child) unheld(f *mcpproxy.Frame) *diagnostics.Diagnosis {
	return &diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageBoot, Attribution: diagnostics.Certain, Server: c.session.name, Tool: c.tool,
		What: fmt.Sprintf("server %q: an answer of %d MiB to a handshake, or to what is asked for each session, cannot be looked at", c.session.name, f.Size>>20),
		Fix:  "set stateful = true: then answers pass as they are",
	}
}

// ask sends a request of our own and waits for the answer.
func (c *child) ask(ctx context.Context, f *mcpproxy.Frame, limit time.Duration) (*mcpproxy.Frame, error) {
	p := c.session
	p.mu.Lock()
	p.lastOwn++
	id := strconv.Quote(p.private + strconv.FormatInt(p.lastOwn, 10))
	p.mu.Unlock()
	answer, key := make(chan told, 1), mcpproxy.IDKey([]byte(id))
	c.mu.Lock()
	c.own[key] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.own, key)
		c.used = time.Now()
		c.mu.Unlock()
	}()
	f.Replace(f.Messages[0].IDAt, []byte(id))
	at := new(place)
	c.out.put(f, at)
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case got := <-answer:
		return got.take()
	case <-c.ended:
		select {
		case got := <-answer:
			return got.take()
		default:
		}
		if c.unheard(at) {
			return nil, errUnheard
		}
		return nil, errEnded
	case <-late:
		return nil, errSilent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end sees to it that the process ends, and returns when it is gone: by itself now
// that its stdin is closed, if it does so soon, or by force.
func (c *child) end() {
	p := c.session
	c.out.close()
	soon := time.NewTimer(p.times.rest)
	defer soon.Stop()
	select {
	case <-c.ended:
		return
	case <-p.hurried.c:
	case <-soon.C:
	}
	c.proc.Signal(syscall.SIGTERM)
	soon.Reset(p.times.signal)
	select {
	case <-c.ended:
	case <-soon.C:
		c.kill()
	}
}

// kill ends the process at once.
func (c *child) kill() {
	c.proc.Kill()
	<-c.ended
}

// unheard reports whether a process that has ended has read nothing of what it was
// sent there. What it has read a byte of may have been done.
func (c *child) unheard(at *place) bool {
	before, begun := at.begun()
	return !begun || c.out.written.n.Load()-int64(c.left) <= before
}

// whenIgnored tells when the process has read what it was sent and has been silent
// for so long that it must have ignored it. One that is still being loaded ignores
// nothing.
func (c *child) whenIgnored(quit <-chan struct{}) <-chan struct{} {
	limit := c.times.probe
	ignored := make(chan struct{})
	c.tasks.Go(func() {
		ticker := time.NewTicker(max(limit/40, time.Millisecond))
		defer ticker.Stop()
		var read time.Time
		for {
			select {
			case now := <-ticker.C:
				switch {
				case read.IsZero():
					if !c.out.waits() && unread(c.pipes.stdin) == 0 {
						read = now
					}
				case now.Sub(read) >= limit:
					close(ignored)
					return
				}
			case <-quit:
				return
			case <-c.ended:
				return
			}
		}
	})
	return ignored
}
