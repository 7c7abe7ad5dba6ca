package stateless

import (
	"bytes"
	"context"
	"encoding/json"

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

// setLogLevel tells the workers that are ready. Warm workers are told, too, but no call gets them any more.
func (p *pool) setLogLevel(params []byte) {
	p.mu.Lock()
	p.logLevel = params
	var told []*worker
	for w := range p.workers {
		if w.ready && w.info != nil && w.info.Era() == mcpproxy.Legacy {
			told = append(told, w)
		}
	}
	p.mu.Unlock()
	for _, w := range told {
		w.queue.tryEnqueue(logLevelRequest(p.session.nextID(), params))
	}
	p.session.wake() // others take the place of the warm workers
}

func logLevelRequest(id, params []byte) *mcpproxy.Frame {
	return mcpproxy.Parse(mcpproxy.NewRequest(id, "logging/setLevel", params))
}

// tellLogLevel tells a new worker the level that the client has set. It waits for the answer, but not longer than
// times.discover: servers may work on requests in any order, and the client had its answer before it sent the call.
func (w *worker) tellLogLevel(ctx context.Context) {
	p := &w.session.pool
	for {
		p.mu.Lock()
		same, level := bytes.Equal(w.logLevel, p.logLevel), p.logLevel
		w.logLevel = level
		p.mu.Unlock()
		if same {
			return
		}
		w.request(ctx, logLevelRequest([]byte("0"), level), w.client.Times.Discover)
	}
}
