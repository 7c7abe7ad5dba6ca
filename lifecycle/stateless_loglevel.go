package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// setLogLevel answers for the server, if it has said that it knows levels, and has each
// process told from then on.
func (s *statelessSession) setLogLevel(ctx context.Context, rq *clientRequest) {
	e := &rq.frame.Messages[0]
	params := bytes.Clone(rq.frame.Slice(e.Params))
	if params == nil || !s.cache.hasLogging() {
		s.goTask(func() { s.answerFromDiscovery(ctx, rq) })
		return
	}
	told := map[*worker]*mcpproxy.Frame{}
	s.mu.Lock()
	s.logLevel = params
	for w := range s.workers {
		if w.ready && w.info != nil && w.info.era == mcpproxy.Legacy {
			told[w] = s.logLevelRequest(w)
		}
	}
	s.mu.Unlock()
	for w, f := range told {
		w.queue.tryEnqueue(f)
	}
	s.respondWith(rq, "result", []byte("{}"))
}

// logLevelRequest is the client's logging/setLevel with an id of ours, for one process. The
// caller holds mu.
func (s *statelessSession) logLevelRequest(w *worker) *mcpproxy.Frame {
	s.lastInternalRequest++
	id := jsonString(fmt.Sprintf("%s%d", s.idPrefix, s.lastInternalRequest))
	w.logLevel.sent(id)
	return mcpproxy.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"logging/setLevel","params":%s}`+"\n", id, s.logLevel))
}

// waitLogLevel waits until the process has answered the last logging/setLevel: servers may
// work on requests in any order, and the client has had its answer before it went on.
// One that does not answer within times.probe is not waited for.
func (w *worker) waitLogLevel(ctx context.Context) {
	soon := time.NewTimer(w.client.times.discover)
	defer soon.Stop()
	select {
	case <-w.logLevel.done():
	case <-soon.C:
	case <-w.ended:
	case <-ctx.Done():
	}
}

// logLevelUpdate is a logging/setLevel under way. The zero one is none.
type logLevelUpdate struct {
	mu   sync.Mutex
	key  string
	over chan struct{}
}

func (l *logLevelUpdate) sent(id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil || isClosed(l.over) {
		l.over = make(chan struct{})
	}
	l.key = mcpproxy.IDKey(id)
}

// answered reports whether a message is the answer.
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
