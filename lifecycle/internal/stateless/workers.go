package stateless

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/certain"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// markReady makes a worker receive what the client sends to all workers, and first the log
// level that the client has set.
func (p *pool) markReady(w *worker) {
	room := true
	p.mu.Lock()
	p.anyReady, w.ready = true, true
	if p.logLevel != nil && w.info != nil && w.info.Era() == mcpproxy.Legacy {
		room = w.queue.TryEnqueue(p.logLevelRequest(w))
	}
	p.mu.Unlock()
	if !room {
		w.onQueueFull()
	}
}

func (p *pool) readyWorkers() (all []*worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.workers {
		if w.ready {
			all = append(all, w)
		}
	}
	return all
}

func (p *pool) allDenials() []policy.Denial {
	p.mu.Lock()
	all := p.pastDenials[:len(p.pastDenials):len(p.pastDenials)]
	children := slices.Collect(maps.Keys(p.workers))
	p.mu.Unlock()
	for _, w := range children { // without mu: a jail may take a while to answer
		all = append(all, w.server.RecordedDenials()...)
	}
	return all
}

func (p *pool) countRefused() int {
	p.mu.Lock()
	n, children := len(p.pastDenials), slices.Collect(maps.Keys(p.workers))
	p.mu.Unlock()
	for _, w := range children { // as in allDenials
		n += len(w.server.Processes.Denials())
	}
	return n
}

func (p *pool) servers() (all []*session.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.workers {
		all = append(all, &w.server)
	}
	return all
}

func (p *pool) removeWorker(w *worker) {
	denials := w.server.RecordedDenials() // before mu: a jail may take a while to answer
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.workers, w)
	p.pastDenials = append(p.pastDenials, denials...)
	if n := len(p.pastDenials) - session.MaxDenials; n > 0 {
		p.pastDenials = append(p.pastDenials[:0:0], p.pastDenials[n:]...)
	}
}

func (p *pool) workerFor(ctx context.Context, rq *clientRequest, warm bool) (*worker, *diagnostics.Diagnosis) {
	if rq.tool == "" { // "" is the discovery worker, with its own policy
		d := p.client.Announce(session.Refusal(-32602, diagnostics.PagePerCall, p.session.serverName, "",
			"a call of a tool without a name", "have the client name the tool"))
		return nil, &d
	}
	p.session.discovery.refresh(rq.listRequest().Logs)
	if d := p.session.discovery.refuseUnlisted(ctx, rq); d != nil {
		return nil, d
	}
	info := rq.info
	t, d := p.session.resolveTool(rq.tool)
	if d != nil {
		return nil, d
	}
	certain := p.isDoubtful(rq.tool)
	if warm && !certain { // no warm worker records refused reads
		if w := p.takeWarm(rq.tool, info, t); w != nil {
			return w, nil
		}
	}
	// Meanwhile the pool starts no warm workers.
	p.startingCalls.Add(1)
	served := p.prepared.Begin(t.Profile, time.Now())
	defer func() {
		served()
		p.startingCalls.Add(-1)
		p.session.wake()
	}()
	w, d := p.startWorker(ctx, rq.tool, t, info, startOptions{certain: certain})
	if d != nil {
		return nil, d
	}
	if _, d = w.handshake(ctx); d != nil {
		w.kill()
		return nil, d
	}
	return w, nil
}

// startOptions tell why a worker is started.
type startOptions struct {
	warm    bool // there is no call for it yet
	certain bool // its jail is to record refused reads
}

// startWorker starts a worker. If that fails, d is the answer for the client.
func (p *pool) startWorker(ctx context.Context, tool string, t Tool, info *clientinfo.Info, o startOptions) (w *worker, d *diagnostics.Diagnosis) {
	if o.certain {
		ctx = certain.WithReads(ctx)
	}
	w = &worker{session: p.session, client: p.client, tool: tool, info: info, warm: o.warm, startedAt: time.Now(), requests: map[string]*clientRequest{}, waiters: map[string]chan reply{}, ended: make(chan struct{})}
	w.server.Init(p.client, t.Profile)
	w.freed.L = &w.mu
	w.server.Stateless, w.server.CertainReads, w.server.Unset = true, o.certain, t.Unset
	w.server.Quiet.Store(o.warm)
	for _, line := range t.Warnings {
		p.client.Warn(line)
	}
	pipes, err := streams.NewPipes()
	if err == nil {
		w.server.Pipes = pipes
		w.proc, err = w.server.Launch(ctx)
		pipes.CloseServerEnds()
		if err != nil {
			pipes.CloseOwnEnds()
		}
	}
	switch {
	case ctx.Err() != nil: // the request was cancelled while the jail was built
		if err == nil {
			w.proc.Kill()
			w.proc.Wait()
			pipes.CloseOwnEnds()
		}
		return nil, &diagnostics.Diagnosis{Code: diagnostics.CodeDied, Stage: diagnostics.StageExec, Server: p.session.serverName, Tool: tool, Explain: diagnostics.PageServerEnded, What: "no request waits for it any more"}
	case err != nil:
		failed, status := w.server.StartFailure(err)
		p.mu.Lock()
		p.failureStatus = status
		p.mu.Unlock()
		return nil, &failed
	}
	if p.session.signalsCaught != nil {
		p.session.signalsCaught()
	}
	w.server.Adopt(w.proc)
	written := &streams.CountingWriter{Dst: pipes.Stdin}
	w.conn = mcpproxy.NewConn(pipes.Stdout, written, session.MessageLimit(t.Profile))
	w.queue.Init(written)
	p.mu.Lock()
	p.workers[w] = true
	p.mu.Unlock()
	p.client.Tasks.Go(w.run)
	return w, nil
}

func (p *pool) exitStatus() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.anyReady {
		return 0
	}
	return p.failureStatus
}
