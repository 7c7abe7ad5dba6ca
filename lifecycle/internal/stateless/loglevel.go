package stateless

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (dp *dispatcher) setLogLevel(ctx context.Context, rq *clientRequest) {
	e := &rq.frame.Messages[0]
	params := bytes.Clone(rq.frame.Slice(e.Params))
	var asked struct{ Level string }
	json.Unmarshal(params, &asked)
	accepted := func() {
		for _, m := range dp.client.Logs.SetLevel(asked.Level) {
			dp.session.noteSendError(dp.client.Proxy.Client.Inject(m))
		}
	}
	if params == nil || !dp.session.discovery.cache.HasLogging() {
		rq.onResponse = func(_ *mcpproxy.Frame, e *mcpproxy.Envelope) {
			if e.Result.Present() {
				accepted()
			}
		}
		dp.table.goTask(func() { dp.session.discovery.answer(ctx, rq) })
		return
	}
	dp.session.pool.setLogLevel(params)
	dp.respondWith(rq, "result", []byte("{}"))
	accepted()
}

func (p *pool) setLogLevel(params []byte) {
	told := map[*worker]*mcpproxy.Frame{}
	p.mu.Lock()
	p.logLevel = params
	for w := range p.workers {
		if w.ready && w.info != nil && w.info.Era() == mcpproxy.Legacy {
			told[w] = p.logLevelRequest(w)
		}
	}
	p.mu.Unlock()
	for w, f := range told {
		w.queue.TryEnqueue(f)
	}
}

// logLevelRequest returns the client's logging/setLevel for one worker, with an id of
// ours. The caller holds mu.
func (p *pool) logLevelRequest(w *worker) *mcpproxy.Frame {
	id := p.session.nextID()
	w.logLevel.sent(id)
	return mcpproxy.Parse(mcpproxy.NewRequest(id, "logging/setLevel", p.logLevel))
}

// waitLogLevel waits until the worker has answered the last logging/setLevel, or
// times.discover has passed. Servers may work on requests in any order, and the client had
// its answer before it sent the call.
func (w *worker) waitLogLevel(ctx context.Context) {
	soon := time.NewTimer(w.client.Times.Discover)
	defer soon.Stop()
	select {
	case <-w.logLevel.done():
	case <-soon.C:
	case <-w.ended:
	case <-ctx.Done():
	}
}

// logLevelUpdate is a logging/setLevel that a worker has been sent. The zero value is
// none.
type logLevelUpdate struct {
	mu   sync.Mutex
	key  string
	over chan struct{}
}

func (l *logLevelUpdate) sent(id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil || session.IsClosed(l.over) {
		l.over = make(chan struct{})
	}
	l.key = mcpproxy.IDKey(id)
}

func (l *logLevelUpdate) answered(e *mcpproxy.Envelope) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" || e.Kind() != mcpproxy.Response || mcpproxy.IDKey(e.ID) != l.key {
		return false
	}
	l.key = ""
	close(l.over)
	return true
}

func (l *logLevelUpdate) done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil {
		l.over = make(chan struct{})
		close(l.over)
	}
	return l.over
}
