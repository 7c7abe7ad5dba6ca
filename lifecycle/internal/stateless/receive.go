package stateless

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (w *worker) read() {
	hooks := mcpproxy.Hooks{
		NonMessage: w.onNonMessage,
		Oversized: func(_ mcpproxy.Side, f *mcpproxy.Frame) {
			w.rejectReply(f, w.server.TooLargeDiagnosis(mcpproxy.FromServer, f))
		},
	}
	hooks.Receive(w.conn.Reader, func(f *mcpproxy.Frame) error {
		leak := w.server.Leaks.Load().Check(f, w.tool)
		switch {
		case leak != nil:
			w.rejectLeak(f, *leak)
		case f.Flaws.Ambiguous():
			// Two readings of the message may name different requests.
			w.rejectReply(f, session.Refusal(-32603, diagnostics.PageMessage, w.session.serverName, w.tool,
				"two JSON readers could read one of its messages differently", ""))
		case f.Batch:
			parts, _ := f.Split()
			for _, part := range parts {
				w.onMessage(part)
				part.Close()
			}
		default:
			w.onMessage(f)
		}
		return nil
	})
}

func (w *worker) showsStderr() bool {
	// Workers write the same lines while they start. The user sees these only when something fails.
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active || w.tool == ""
}

func (w *worker) onNonMessage(f *mcpproxy.Frame) {
	if w.showsStderr() {
		w.server.Stray.Show(f)
		return
	}
	if line := f.Bytes(); !f.Blank() && line != nil {
		w.server.Tail.Write(line)
		w.session.client.SayOnce(fmt.Sprintf("server %q writes lines to its stdout that are not MCP messages, such as %s", w.session.serverName, show.Quote(w.server.Redact.Redact(strings.TrimSpace(string(line[:min(len(line), 200)]))))))
	}
}

// rejectReply refuses a frame of the worker. It answers with d the worker's requests in the frame,
// and the requests to which the frame could be an answer.
func (w *worker) rejectReply(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	said := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if e.Kind() == mcpproxy.Request && e.Trackable() {
			said = true
			w.client.Announce(d)
			w.trySend(mcpproxy.Parse(d.ErrorFrame(e.ID)))
			continue
		}
		// Any id that a reader could see in the message may be the one that the client waits for.
		for _, id := range session.IDsIn(f, e) {
			e.ID = id
			said = w.rejectAnswer(e, d) || said
		}
	}
	if !said {
		w.client.SayDropped(f, d)
	}
}

// rejectAnswer answers the request that waits for e with d. It returns false if none waits.
func (w *worker) rejectAnswer(e *mcpproxy.Envelope, d diagnostics.Diagnosis) bool {
	if waits := w.waiter(e); waits != nil {
		waits <- reply{rejected: &d}
	} else if rq := w.takeRequest(e); rq != nil {
		d.Tool = rq.tool
		w.client.Announce(d)
		w.session.dispatcher.fail(rq, d)
	} else {
		return false
	}
	return true
}

func (w *worker) rejectLeak(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	if slices.ContainsFunc(f.Messages, func(e mcpproxy.Envelope) bool { return e.Kind() != mcpproxy.Notification }) {
		w.rejectReply(f, d)
	} else {
		w.server.Leaks.Load().Dropped(f, w.tool)
	}
}

func (w *worker) takeRequest(e *mcpproxy.Envelope) *clientRequest { return takeFor(w, w.requests, e) }

// takeFor takes what a response is for out of a table of the worker, or returns the zero value.
func takeFor[T any](w *worker, open map[string]T, e *mcpproxy.Envelope) (found T) {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return found
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found = open[mcpproxy.IDKey(e.ID)]
	delete(open, mcpproxy.IDKey(e.ID))
	return found
}

func (w *worker) onMessage(f *mcpproxy.Frame) {
	if f.Oversized { // a message of a batch that could not be read back
		w.rejectReply(f, w.server.TooLargeDiagnosis(mcpproxy.FromServer, f))
		return
	}
	e := &f.Messages[0]
	if len(e.Reserved) > 0 && e.Kind() != mcpproxy.Response {
		session.StripReserved(f, e)
	}
	switch e.Kind() {
	case mcpproxy.Response:
		w.onServerResponse(f, e)
	case mcpproxy.Request:
		if answer := w.server.Roots.Answer(e); answer != nil {
			w.server.SendAsync(w.conn, answer)
			return
		}
		switch {
		case !w.mayRequest(string(e.Method)):
			w.refuseRequest(e, "no call is running that this request could belong to")
		case max(len(e.ID), len(e.Token), len(e.Method)) > mcpproxy.MaxID:
			w.refuseRequest(e, "the id, the progress token or the method is too long")
		case !w.session.serverRequests.forward(w, f, e):
			w.refuseRequest(e, "too many requests wait for the client")
		default:
			w.client.Questions.Others(string(e.Method), false)
			w.session.sendToClient(f)
		}
	case mcpproxy.Notification:
		if w.forwards(f, e) {
			w.session.sendToClient(f)
		}
	}
}

func (w *worker) onServerResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if len(e.Reserved) > 0 {
		session.StripReserved(f, e)
		if line, whole := f.AppendTo(nil); whole { // so that the cache does not keep it either
			f = mcpproxy.Parse(line)
			e = &f.Messages[0]
		}
	}
	if waits := w.waiter(e); waits != nil {
		// It is in a file, and no caller of request reads it from there.
		if f.Slice(e.Self) == nil {
			waits <- reply{rejected: w.tooLargeToBuffer(f)}
		} else {
			waits <- reply{frame: f.Clone()}
		}
		return
	}
	rq := w.takeRequest(e)
	if rq == nil || session.IsClosed(rq.done) {
		return // no open request has this id
	}
	if answers.IsTask(f.Slice(e.Result)) {
		w.session.dispatcher.fail(rq, w.client.Announce(noTasks(w.session.serverName, rq.tool, "it has answered "+rq.method+" with a task, for work that goes on after the answer")))
		return
	}
	if rq.onResponse != nil {
		rq.onResponse(f, e)
	}
	call := rq.call()
	if rq.method == "tools/call" {
		w.session.pool.noteOutcome(w, w.server.AnnotateResult(f, e, call))
	} else {
		w.server.AnnotateError(f, e, call)
	}
	w.session.dispatcher.forwardResponse(rq, f)
}

func (w *worker) forwards(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	switch string(e.Method) {
	case "notifications/cancelled":
		return w.session.serverRequests.cancel(w, f, e)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if w.tool == "" {
			// We send list_changed ourselves, after the lists were compared.
			w.session.discovery.onListChanged(w.info.Era())
		}
		return false
	case "notifications/resources/updated", "notifications/subscriptions/acknowledged", "notifications/tasks", "notifications/tasks/status":
		return false
	case "notifications/progress":
		return w.ownsToken(e.Token)
	}
	if string(e.Method) == "notifications/message" {
		w.mu.Lock()
		defer w.mu.Unlock()
		// Some libraries log concurrently, after the answer.
		return w.active
	}
	return w.isWorking()
}

func (w *worker) isWorking() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	// A discovery worker that has had a request may tell of it later.
	return len(w.requests) > 0 || w.active && w.tool == ""
}

// mayRequest reports whether the worker may send this request to the client. The client
// takes a question for a part of the call that it has sent, so a worker without an open
// request may not ask. Many servers list the roots before their first request; that shows
// the user nothing.
func (w *worker) mayRequest(method string) bool {
	return method == "roots/list" || method == "ping" || w.isWorking()
}

func (w *worker) refuseRequest(e *mcpproxy.Envelope, why string) {
	w.trySend(mcpproxy.Parse(mcpproxy.NewError(e.ID, -32603, "mcp-jail: "+why, nil)))
}

func (w *worker) ownsToken(token []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rq := range w.requests {
		if t := rq.frame.Messages[0].Token; t != nil && mcpproxy.IDKey(t) == mcpproxy.IDKey(token) {
			return true
		}
	}
	return false
}

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
	switch {
	case !session.IsClosed(w.ended) && ctx.Err() != nil:
		return nil, ctx.Err()
	case !session.IsClosed(w.ended):
		return nil, errTimeout
	case w.notRead(at):
		return nil, errNotRead
	}
	return nil, errExited
}

func (w *worker) waiter(e *mcpproxy.Envelope) chan reply { return takeFor(w, w.waiters, e) }
