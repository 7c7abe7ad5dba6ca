package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// child is one process of a stateless server, from its start to its end.
type child struct {
	client  *front
	server  instance
	session *perCall
	proc    Process
	conn    *mcpproxy.Conn
	began   time.Time
	hello   *hello // the handshake that it goes through; nil: none
	tool    string // "" for the discovery
	spare   bool   // it was started before there was a call for it
	greeted bool   // it is past its handshake; under perCall.mu
	asking  int    // requests of its to the client that are open; under perCall.mu

	mu     sync.Mutex
	work   map[string]*request // by id
	own    map[string]chan told
	active bool      // a request of the client has been sent to it
	level  levelled  // the last logging/setLevel that it was sent
	used   time.Time // when something was asked last, or answered
	freed  sync.Cond // work or own has lost one
	gone   bool      // for who waits for that

	out   outbox
	ended chan struct{} // it is gone, and all it said was read
	exit  confine.Exit
	left  int // bytes of its stdin that it has not read
}

// spawn starts a process. When it cannot be started the client is to be told d.
func (p *perCall) spawn(ctx context.Context, tool string, t Tool, h *hello, spare bool) (c *child, d *diagnostics.Diagnosis) {
	c = &child{session: p, client: p.client, tool: tool, hello: h, spare: spare, began: time.Now(), work: map[string]*request{}, own: map[string]chan told{}, ended: make(chan struct{})}
	c.server.init(p.client, t.Profile)
	c.freed.L = &c.mu
	c.server.stateless, c.server.unset = true, t.Unset
	c.server.quiet.Store(spare)
	for _, w := range t.Warnings {
		p.client.warn(w)
	}
	pipes, err := newPipes()
	if err == nil {
		c.server.pipes = pipes
		c.proc, err = c.server.build(ctx)
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
		failed, status := c.server.startFailure(err)
		p.mu.Lock()
		p.status = status
		p.mu.Unlock()
		return nil, &failed
	}
	c.server.started(c.proc)
	p.accepted(c.proc.Plan())
	written := &progress{dst: pipes.stdin}
	c.conn = mcpproxy.NewConn(pipes.stdout, written, p.client.limit())
	c.out.init(written)
	p.mu.Lock()
	p.children[c] = true
	p.mu.Unlock()
	p.client.tasks.Go(c.live)
	return c, nil
}

// live reads what the process says until it has ended.
func (c *child) live() {
	p := c.session
	var pumps sync.WaitGroup
	said := make(chan struct{})
	pumps.Go(func() {
		defer close(said)
		c.read()
	})
	pumps.Go(func() { c.server.pumpStderr(c.server.pipes.stderr, c.shows) })
	pumps.Go(func() {
		c.out.write(c.conn)
		c.server.pipes.stdin.Close()
	})
	c.watch(said)
	c.proc.Kill() // whatever the program has left behind
	exit, err := c.proc.Wait()
	c.client.log.Debug().Str("tool", c.tool).Int("code", exit.Code).Str("why", exit.Why).Err(err).Msg("a process has ended")
	c.exit, c.left = exit, unread(c.server.pipes.stdin)
	c.out.close()
	c.server.pipes.stderr.finish(p.client.times.idle, p.client.times.drain)
	c.server.pipes.stdout.finish(p.client.times.idle, p.client.times.drain)
	pumps.Wait()
	c.server.pipes.closeOurs()
	p.withdrawAll(c)
	p.forget(c)
	c.mu.Lock()
	c.gone = true
	c.freed.Broadcast()
	c.mu.Unlock()
	close(c.ended)
}

// watch waits until the process has ended. One that has closed its stdout, and lives,
// can answer nothing any more: it is ended.
func (c *child) watch(said <-chan struct{}) {
	select {
	case <-c.proc.Done():
		return
	case <-said:
	}
	soon := time.NewTimer(c.client.times.rest)
	defer soon.Stop()
	select {
	case <-c.proc.Done():
		return
	case <-soon.C:
	}
	if !c.out.isClosed() { // else it is being ended
		if !c.server.quiet.Load() {
			c.client.errs.Say(fmt.Sprintf("mcp-jail: server %q%s has closed its stdout, and is ended: it could answer nothing any more\n", c.session.name, c.forTool()))
		}
		c.client.tasks.Go(c.end)
	}
	<-c.proc.Done()
}

// post sends the process a message of ours, behind what waits already. It does not
// wait: who sends may hold what others need.
func (c *child) post(f *mcpproxy.Frame) {
	if !c.out.offer(f) {
		c.deaf()
	}
}

// deaf ends a process that has asked for more than it takes.
func (c *child) deaf() {
	c.session.client.say(fmt.Sprintf("a process of server %q%s does not read what it has asked for; it was ended", c.session.name, c.forTool()))
	c.proc.Kill()
}

// assign makes a request the process's, and sends it: at tells where. It is nil when
// the request has been answered or cancelled meanwhile.
func (c *child) assign(ctx context.Context, rq *request) (at *place) {
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
	c.server.quiet.Store(false)
	c.server.called.set()
	c.server.tellLimits(f, &f.Messages[0])
	at = new(place)
	c.out.put(ctx, f, at)
	return at
}

// release forgets a request that somebody else has answered, or that was cancelled.
func (c *child) release(rq *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.work[rq.key()] == rq {
		delete(c.work, rq.key())
		c.freed.Broadcast()
	}
	c.used = time.Now()
}

// rest waits a moment for what the process of a call has still to say of it: some
// libraries send notifications on the side, and forget them when their input ends.
func (c *child) rest() {
	soon := time.NewTimer(c.client.times.rest / 25)
	defer soon.Stop()
	select {
	case <-c.ended:
	case <-c.session.client.hurried.c:
	case <-soon.C:
	}
}

// end sees to it that the process ends, and returns when it is gone: by itself now
// that its stdin is closed, if it does so soon, or by force.
func (c *child) end() {
	p := c.session
	c.out.close()
	soon := time.NewTimer(p.client.times.rest)
	defer soon.Stop()
	select {
	case <-c.ended:
		return
	case <-p.client.hurried.c:
	case <-soon.C:
	}
	c.proc.Signal(syscall.SIGTERM)
	soon.Reset(p.client.times.signal)
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
	limit := c.client.times.probe
	ignored := make(chan struct{})
	c.client.tasks.Go(func() {
		ticker := time.NewTicker(max(limit/40, time.Millisecond))
		defer ticker.Stop()
		var read time.Time
		for {
			select {
			case now := <-ticker.C:
				switch {
				case read.IsZero():
					if !c.out.waits() && unread(c.server.pipes.stdin) == 0 {
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
