package stateless

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

var (
	errExited  = errors.New("the process has ended")
	errNotRead = errors.New("the process ended without reading the request")
	errTimeout = errors.New("the process did not answer in time")
)

// reply is the outcome of one of our requests: an answer that is held in memory, or the
// reason why it cannot be used.
type reply struct {
	frame    *mcpproxy.Frame
	rejected *diagnostics.Diagnosis
}

// Error implements error.
func (r reply) Error() string { return r.rejected.What }

func (r reply) result() (*mcpproxy.Frame, error) {
	if r.rejected != nil {
		return nil, r
	}
	return r.frame, nil
}

func (w *worker) tooLargeToBuffer(f *mcpproxy.Frame) *diagnostics.Diagnosis {
	return &diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageStartup, Attribution: diagnostics.Certain, Server: w.session.serverName, Tool: w.tool,
		Explain: diagnostics.PageMessage,
		What:    fmt.Sprintf("server %q: an answer of %d MiB to a handshake or a list is too large to be read into memory", w.session.serverName, f.Size>>20),
		Fix:     "set stateful = true: then answers pass as they are",
	}
}

// request sends one of our requests and waits for the answer. limit bounds the wait; 0 means
// no bound.
func (w *worker) request(ctx context.Context, f *mcpproxy.Frame, limit time.Duration) (*mcpproxy.Frame, error) {
	id := w.session.nextID()
	answer, key := make(chan reply, 1), mcpproxy.IDKey(id)
	// Before the request is sent, whose answer may come at once.
	w.mu.Lock()
	w.waiters[key] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiters, key)
		w.mu.Unlock()
	}()
	f.Replace(f.Messages[0].IDAt, id)
	at := new(delivery)
	waiting := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	w.queue.enqueue(waiting, f, at)
	select {
	case got := <-answer:
		return got.result()
	case <-w.ended:
	case <-waiting.Done():
	}
	// The answer, or the end of the worker, may have come just before: select chooses at random.
	select {
	case got := <-answer:
		return got.result()
	default:
	}
	switch d, lost := w.server.Lost.Diagnosis(id, w.tool); {
	case !session.IsClosed(w.ended) && ctx.Err() != nil:
		return nil, ctx.Err()
	case !session.IsClosed(w.ended):
		return nil, errTimeout
	case lost:
		return reply{rejected: &d}.result()
	case w.notRead(at):
		return nil, errNotRead
	}
	return nil, errExited
}

func (w *worker) waiter(e *mcpproxy.Envelope) chan reply {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := w.waiters[mcpproxy.IDKey(e.ID)]
	delete(w.waiters, mcpproxy.IDKey(e.ID))
	return waits
}
