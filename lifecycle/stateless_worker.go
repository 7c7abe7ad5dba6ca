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
func (s *statelessSession) startWorker(ctx context.Context, tool string, t Tool, h *clientInfo, spare bool) (c *worker, d *diagnostics.Diagnosis) {
	c = &worker{session: s, client: s.client, tool: tool, info: h, warm: spare, startedAt: time.Now(), requests: map[string]*clientRequest{}, waiters: map[string]chan reply{}, ended: make(chan struct{})}
	c.server.init(s.client, t.Profile)
	c.freed.L = &c.mu
	c.server.stateless, c.server.unset = true, t.Unset
	c.server.quiet.Store(spare)
	for _, w := range t.Warnings {
		s.client.warn(w)
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
		return nil, &diagnostics.Diagnosis{Code: diagnostics.CodeDied, Stage: diagnostics.StageExec, Server: s.serverName, Tool: tool, What: "nobody waits for it any more"}
	case err != nil:
		failed, status := c.server.startFailure(err)
		s.mu.Lock()
		s.failureStatus = status
		s.mu.Unlock()
		return nil, &failed
	}
	c.server.adopt(c.proc)
	s.warnWaived(c.proc.Plan())
	written := &countingWriter{dst: pipes.stdin}
	c.conn = mcpproxy.NewConn(pipes.stdout, written, s.client.limit())
	c.queue.init(written)
	s.mu.Lock()
	s.workers[c] = true
	s.mu.Unlock()
	s.client.tasks.Go(c.run)
	return c, nil
}

// run reads what the process says until it has ended.
func (w *worker) run() {
	s := w.session
	var pumps sync.WaitGroup
	said := make(chan struct{})
	pumps.Go(func() {
		defer close(said)
		w.read()
	})
	pumps.Go(func() { w.server.pumpStderr(w.server.pipes.stderr, w.showsStderr) })
	pumps.Go(func() {
		w.queue.writeTo(w.conn)
		w.server.pipes.stdin.Close()
	})
	w.waitExit(said)
	exit, err := w.proc.Wait()
	w.client.log.Debug().Str("tool", w.tool).Int("code", exit.Code).Str("why", exit.Why).Err(err).Msg("a process has ended")
	w.exit, w.unreadInput = exit, unreadBytes(w.server.pipes.stdin)
	w.queue.close()
	w.server.pipes.stderr.startDrain(s.client.times.drainIdle, s.client.times.drainTotal)
	w.server.pipes.stdout.startDrain(s.client.times.drainIdle, s.client.times.drainTotal)
	pumps.Wait()
	w.server.pipes.closeOwnEnds()
	s.cancelServerRequests(w)
	s.removeWorker(w)
	w.mu.Lock()
	w.removed = true
	w.freed.Broadcast()
	w.mu.Unlock()
	close(w.ended)
}

// waitExit waits until the process has ended. One that has closed its stdout, and lives,
// can answer nothing any more: it is ended.
func (w *worker) waitExit(said <-chan struct{}) {
	select {
	case <-w.proc.Done():
		return
	case <-said:
	}
	soon := time.NewTimer(w.client.times.exitGrace)
	defer soon.Stop()
	select {
	case <-w.proc.Done():
		return
	case <-soon.C:
	}
	if !w.queue.isClosed() { // else it is being ended
		if !w.server.quiet.Load() {
			w.client.stderr.Say(fmt.Sprintf("mcp-jail: server %q%s has closed its stdout, and is ended: it could answer nothing any more\n", w.session.serverName, w.forTool()))
		}
		w.client.tasks.Go(w.stop)
	}
	<-w.proc.Done()
}

// trySend sends the process a message of ours, behind what waits already. It does not
// wait: who sends may hold what others need.
func (w *worker) trySend(f *mcpproxy.Frame) {
	if !w.queue.tryEnqueue(f) {
		w.onQueueFull()
	}
}

// onQueueFull ends a process that has asked for more than it takes.
func (w *worker) onQueueFull() {
	w.session.client.sayOnce(fmt.Sprintf("a process of server %q%s does not read what it has asked for; it was ended", w.session.serverName, w.forTool()))
	w.proc.Kill()
}

// assign makes a request the process's, and sends it: at tells where. It is nil when
// the request has been answered or cancelled meanwhile.
func (w *worker) assign(ctx context.Context, rq *clientRequest) (at *delivery) {
	s := w.session
	s.mu.Lock()
	if s.requests[rq.key()] != rq {
		s.mu.Unlock()
		return nil
	}
	rq.worker = w
	f := rq.frame.Clone() // while nobody can close it
	w.mu.Lock()
	w.requests[rq.key()] = rq
	w.active = true
	w.mu.Unlock()
	s.mu.Unlock()
	w.server.quiet.Store(false)
	w.server.firstCall.set()
	w.server.advertise(f, &f.Messages[0])
	at = new(delivery)
	w.queue.enqueue(ctx, f, at)
	return at
}

// release forgets a request that somebody else has answered, or that was cancelled.
func (w *worker) release(rq *clientRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests[rq.key()] == rq {
		delete(w.requests, rq.key())
		w.freed.Broadcast()
	}
	w.lastUsed = time.Now()
}

// waitForLateMessages waits a moment for what the process of a call has still to say of it: some
// libraries send notifications on the side, and forget them when their input ends.
func (w *worker) waitForLateMessages() {
	soon := time.NewTimer(w.client.times.exitGrace / 25)
	defer soon.Stop()
	select {
	case <-w.ended:
	case <-w.session.client.shutdown.done:
	case <-soon.C:
	}
}

// stop sees to it that the process ends, and returns when it is gone: by itself now
// that its stdin is closed, if it does so soon, or by force.
func (w *worker) stop() {
	s := w.session
	w.queue.close()
	soon := time.NewTimer(s.client.times.exitGrace)
	defer soon.Stop()
	select {
	case <-w.ended:
		return
	case <-s.client.shutdown.done:
	case <-soon.C:
	}
	w.proc.Signal(syscall.SIGTERM)
	soon.Reset(s.client.times.signal)
	select {
	case <-w.ended:
	case <-soon.C:
		w.kill()
	}
}

// kill ends the process at once.
func (w *worker) kill() {
	w.proc.Kill()
	<-w.ended
}

// notRead reports whether a process that has ended has read nothing of what it was
// sent there. What it has read a byte of may have been done.
func (w *worker) notRead(at *delivery) bool {
	before, begun := at.offset()
	return !begun || w.queue.written.n.Load()-int64(w.unreadInput) <= before
}

// watchIgnored tells when the process has read what it was sent and has been silent
// for so long that it must have ignored it. One that is still being loaded ignores
// nothing.
func (w *worker) watchIgnored(quit <-chan struct{}) <-chan struct{} {
	limit := w.client.times.discover
	ignored := make(chan struct{})
	w.client.tasks.Go(func() {
		ticker := time.NewTicker(max(limit/40, time.Millisecond))
		defer ticker.Stop()
		var read time.Time
		for {
			select {
			case now := <-ticker.C:
				switch {
				case read.IsZero():
					if !w.queue.isPending() && unreadBytes(w.server.pipes.stdin) == 0 {
						read = now
					}
				case now.Sub(read) >= limit:
					close(ignored)
					return
				}
			case <-quit:
				return
			case <-w.ended:
				return
			}
		}
	})
	return ignored
}
