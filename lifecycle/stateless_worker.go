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

// worker is one process of a stateless server, from its start to its end.
type worker struct {
	client       *client
	server       server
	session      *statelessSession
	proc         Process
	conn         *mcpproxy.Conn
	startedAt    time.Time
	info         *clientInfo // the handshake that it goes through; nil: none
	tool         string      // "" for the discovery
	warm         bool        // it was started before there was a call for it
	ready        bool        // it is past its handshake; under perCall.mu
	openRequests int         // requests of its to the client that are open; under perCall.mu

	mu       sync.Mutex
	requests map[string]*clientRequest // by id
	waiters  map[string]chan reply
	active   bool           // a request of the client has been sent to it
	logLevel logLevelUpdate // the last logging/setLevel that it was sent
	lastUsed time.Time      // when something was asked last, or answered
	freed    sync.Cond      // work or own has lost one
	removed  bool           // for who waits for that

	queue       sendQueue
	ended       chan struct{} // it is gone, and all it said was read
	exit        confine.Exit
	unreadInput int // bytes of its stdin that it has not read
}

// startWorker starts a process. When it cannot be started the client is to be told d.
func (p *statelessSession) startWorker(ctx context.Context, tool string, t Tool, h *clientInfo, spare bool) (c *worker, d *diagnostics.Diagnosis) {
	c = &worker{session: p, client: p.client, tool: tool, info: h, warm: spare, startedAt: time.Now(), requests: map[string]*clientRequest{}, waiters: map[string]chan reply{}, ended: make(chan struct{})}
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
		c.proc, err = c.server.launch(ctx)
		pipes.closeServerEnds()
		if err != nil {
			pipes.closeOwnEnds()
		}
	}
	switch {
	case ctx.Err() != nil:
		if err == nil {
			c.proc.Kill()
			c.proc.Wait()
			pipes.closeOwnEnds()
		}
		return nil, &diagnostics.Diagnosis{Code: diagnostics.CodeDied, Stage: diagnostics.StageExec, Server: p.serverName, Tool: tool, What: "nobody waits for it any more"}
	case err != nil:
		failed, status := c.server.startFailure(err)
		p.mu.Lock()
		p.failureStatus = status
		p.mu.Unlock()
		return nil, &failed
	}
	c.server.adopt(c.proc)
	p.warnWaived(c.proc.Plan())
	written := &countingWriter{dst: pipes.stdin}
	c.conn = mcpproxy.NewConn(pipes.stdout, written, p.client.limit())
	c.queue.init(written)
	p.mu.Lock()
	p.workers[c] = true
	p.mu.Unlock()
	p.client.tasks.Go(c.run)
	return c, nil
}

// run reads what the process says until it has ended.
func (c *worker) run() {
	p := c.session
	var pumps sync.WaitGroup
	said := make(chan struct{})
	pumps.Go(func() {
		defer close(said)
		c.read()
	})
	pumps.Go(func() { c.server.pumpStderr(c.server.pipes.stderr, c.showsStderr) })
	pumps.Go(func() {
		c.queue.writeTo(c.conn)
		c.server.pipes.stdin.Close()
	})
	c.waitExit(said)
	c.proc.Kill() // whatever the program has left behind
	exit, err := c.proc.Wait()
	c.client.log.Debug().Str("tool", c.tool).Int("code", exit.Code).Str("why", exit.Why).Err(err).Msg("a process has ended")
	c.exit, c.unreadInput = exit, unreadBytes(c.server.pipes.stdin)
	c.queue.close()
	c.server.pipes.stderr.startDrain(p.client.times.drainIdle, p.client.times.drainTotal)
	c.server.pipes.stdout.startDrain(p.client.times.drainIdle, p.client.times.drainTotal)
	pumps.Wait()
	c.server.pipes.closeOwnEnds()
	p.cancelServerRequests(c)
	p.removeWorker(c)
	c.mu.Lock()
	c.removed = true
	c.freed.Broadcast()
	c.mu.Unlock()
	close(c.ended)
}

// waitExit waits until the process has ended. One that has closed its stdout, and lives,
// can answer nothing any more: it is ended.
func (c *worker) waitExit(said <-chan struct{}) {
	select {
	case <-c.proc.Done():
		return
	case <-said:
	}
	soon := time.NewTimer(c.client.times.exitGrace)
	defer soon.Stop()
	select {
	case <-c.proc.Done():
		return
	case <-soon.C:
	}
	if !c.queue.isClosed() { // else it is being ended
		if !c.server.quiet.Load() {
			c.client.stderr.Say(fmt.Sprintf("mcp-jail: server %q%s has closed its stdout, and is ended: it could answer nothing any more\n", c.session.serverName, c.forTool()))
		}
		c.client.tasks.Go(c.stop)
	}
	<-c.proc.Done()
}

// trySend sends the process a message of ours, behind what waits already. It does not
// wait: who sends may hold what others need.
func (c *worker) trySend(f *mcpproxy.Frame) {
	if !c.queue.tryEnqueue(f) {
		c.onQueueFull()
	}
}

// onQueueFull ends a process that has asked for more than it takes.
func (c *worker) onQueueFull() {
	c.session.client.sayOnce(fmt.Sprintf("a process of server %q%s does not read what it has asked for; it was ended", c.session.serverName, c.forTool()))
	c.proc.Kill()
}

// assign makes a request the process's, and sends it: at tells where. It is nil when
// the request has been answered or cancelled meanwhile.
func (c *worker) assign(ctx context.Context, rq *clientRequest) (at *delivery) {
	p := c.session
	p.mu.Lock()
	if p.requests[rq.key()] != rq {
		p.mu.Unlock()
		return nil
	}
	rq.worker = c
	f := rq.frame.Clone() // while nobody can close it
	c.mu.Lock()
	c.requests[rq.key()] = rq
	c.active = true
	c.mu.Unlock()
	p.mu.Unlock()
	c.server.quiet.Store(false)
	c.server.firstCall.set()
	c.server.advertise(f, &f.Messages[0])
	at = new(delivery)
	c.queue.enqueue(ctx, f, at)
	return at
}

// release forgets a request that somebody else has answered, or that was cancelled.
func (c *worker) release(rq *clientRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests[rq.key()] == rq {
		delete(c.requests, rq.key())
		c.freed.Broadcast()
	}
	c.lastUsed = time.Now()
}

// waitForLateMessages waits a moment for what the process of a call has still to say of it: some
// libraries send notifications on the side, and forget them when their input ends.
func (c *worker) waitForLateMessages() {
	soon := time.NewTimer(c.client.times.exitGrace / 25)
	defer soon.Stop()
	select {
	case <-c.ended:
	case <-c.session.client.shutdown.done:
	case <-soon.C:
	}
}

// stop sees to it that the process ends, and returns when it is gone: by itself now
// that its stdin is closed, if it does so soon, or by force.
func (c *worker) stop() {
	p := c.session
	c.queue.close()
	soon := time.NewTimer(p.client.times.exitGrace)
	defer soon.Stop()
	select {
	case <-c.ended:
		return
	case <-p.client.shutdown.done:
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
func (c *worker) kill() {
	c.proc.Kill()
	<-c.ended
}

// notRead reports whether a process that has ended has read nothing of what it was
// sent there. What it has read a byte of may have been done.
func (c *worker) notRead(at *delivery) bool {
	before, begun := at.offset()
	return !begun || c.queue.written.n.Load()-int64(c.unreadInput) <= before
}

// watchIgnored tells when the process has read what it was sent and has been silent
// for so long that it must have ignored it. One that is still being loaded ignores
// nothing.
func (c *worker) watchIgnored(quit <-chan struct{}) <-chan struct{} {
	limit := c.client.times.discover
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
					if !c.queue.isPending() && unreadBytes(c.server.pipes.stdin) == 0 {
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
