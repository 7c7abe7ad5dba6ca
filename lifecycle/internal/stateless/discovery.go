package stateless

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// discovery answers the requests that are not calls of tools: from the cache, or by the discovery
// worker of the client's era. The pool has one for each era, since a server may settle for the era of its
// first message.
type discovery struct {
	session *statelessSession
	client  *session.Client
	profile atomic.Pointer[policy.Profile] // of discovery workers, by the configuration as it is now
	infos   clientinfo.Known
	cache   *answers.Cache
	tools   answers.Tools
}

// worker returns the discovery worker for a client. The caller releases it.
func (dv *discovery) worker(ctx context.Context, info *clientinfo.Info) (*worker, *diagnostics.Diagnosis) {
	dv.refresh(false)
	w := dv.session.pool.discoveryWorker(info)
	select {
	case <-w.started:
		if w.failure == nil {
			return w, nil
		}
		defer dv.session.pool.release(w)
		return w, w.failure
	case <-ctx.Done():
		defer dv.session.pool.release(w)
		return nil, dv.session.abandoned("")
	}
}

// lookup returns what is kept as the answer to a request, and has its later answer kept.
func (dv *discovery) lookup(rq *clientRequest) (answers.Answer, bool) {
	rq.kept = answers.RequestOf(rq.method, rq.frame.Slice(rq.frame.Messages[0].Params))
	return dv.cache.Lookup(rq.info, rq.kept)
}

func (dv *discovery) answerInitialize(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if info == nil {
		dv.session.dispatcher.decline(rq, "the handshake is too large to be repeated to each process")
		return
	}
	if a, ok := dv.lookup(rq); ok {
		dv.respondHandshake(rq, a.Member(), a.Value, false)
		return
	}
	w, d := dv.worker(ctx, info)
	switch {
	case d == nil:
		defer dv.session.pool.release(w)
	case w == nil || w.greeting == nil:
		dv.session.dispatcher.fail(rq, *d)
		return
	}
	greeting := w.greeting
	e := &greeting.Messages[0]
	if e.Error.Present() {
		dv.session.dispatcher.respondWith(rq, "error", greeting.Slice(e.Error))
		return
	}
	dv.cache.Store(info, rq.kept, greeting, e)
	dv.respondHandshake(rq, "result", greeting.Slice(e.Result), false)
}

// answerDiscover answers server/discover: from the cache, or with the discovery worker's
// answer. If the worker ends on it or ignores it, the session answers in its name: see
// discoverGuard.
func (dv *discovery) answerDiscover(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if a, ok := dv.lookup(rq); ok {
		dv.respondHandshake(rq, a.Member(), a.Value, true)
		return
	}
	w, d := dv.worker(ctx, info)
	if d != nil {
		dv.session.dispatcher.fail(rq, *d)
		return
	}
	defer dv.session.pool.release(w)
	line, whole := rq.frame.AppendTo(nil)
	if !whole {
		dv.session.dispatcher.decline(rq, "the request is too large to be repeated")
		return
	}
	f := mcpproxy.Parse(line)
	w.server.Roots.Advertise(f, &f.Messages[0])
	// The wait can end in two ways: asking ends if the worker ignores the request, ctx if the client
	// has cancelled it.
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	quit := make(chan struct{})
	defer close(quit)
	dv.client.Tasks.Go(func() {
		awaited := func() bool { return !session.IsClosed(w.ended) }
		isRead := func() bool { return !w.queue.isPending() && streams.UnreadBytes(w.server.Pipes.Stdin) == 0 }
		session.WatchIgnored(dv.client.Times.Discover, w.server.Pipes.Stdin, awaited, isRead, quit, cancel)
	})
	answer, err := w.request(asking, f, w.server.Profile.Startup)
	switch {
	case err == nil:
		e := &answer.Messages[0]
		dv.cache.Store(info, rq.kept, answer, e)
		if e.Error.Present() {
			if !session.DeclinesMethod("server/discover", string(e.Code)) {
				ev := w.server.Evidence(diagnostics.StageList, rq.call(), time.Time{})
				ev.Text = session.FailureText(answer, e)
				w.server.Diagnose(ev)
			}
			dv.session.dispatcher.respondWith(rq, "error", answer.Slice(e.Error))
			return
		}
		dv.respondHandshake(rq, "result", answer.Slice(e.Result), true)
	case err == errExited:
		dv.declineDiscover(rq, fmt.Sprintf("ended on server/discover (%s)", session.ExitText(w.exit)))
	case asking.Err() != nil:
		dv.session.pool.withdrawOne(w)
		dv.declineDiscover(rq, fmt.Sprintf("has ignored server/discover for %v", dv.client.Times.Discover))
		w.kill()
	default:
		dv.session.dispatcher.fail(rq, *w.startupFailure(ctx, err))
	}
}

func (dv *discovery) declineDiscover(rq *clientRequest, why string) {
	dv.client.Log.Info().Str("server", dv.session.serverName).Str("why", why).Msg("answered server/discover in the server's name")
	dv.session.dispatcher.respondWith(rq, "error", session.DeclinedDiscover(dv.session.serverName, why))
}

func (dv *discovery) answer(ctx context.Context, rq *clientRequest) {
	if answers.IsList(rq.method) {
		if a, ok := dv.lookup(rq); ok {
			if d := dv.checkList(rq, a.Value); d != nil {
				dv.session.dispatcher.fail(rq, *d)
				return
			}
			dv.onToolsList(rq, a.Value)
			dv.session.dispatcher.respondWith(rq, a.Member(), listForClient(rq, a.Value))
			return
		}
		rq.onResponse = func(f *mcpproxy.Frame, e *mcpproxy.Envelope) { dv.onList(rq, f, e) }
	}
	dv.session.dispatcher.run(ctx, rq)
}

func (dv *discovery) onList(rq *clientRequest, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	result := f.Slice(e.Result)
	if e.Result.Present() {
		if d := dv.checkList(rq, result); d != nil {
			f.Replace(e.Self, bytes.TrimSuffix(d.ErrorFrame(rq.id), []byte{'\n'}))
			return
		}
	}
	dv.cache.Store(rq.info, rq.kept, f, e)
	if e.Result.Present() {
		dv.onToolsList(rq, result)
		if list := listForClient(rq, result); len(list) != len(result) {
			f.Replace(e.Result, list)
		}
	}
}
