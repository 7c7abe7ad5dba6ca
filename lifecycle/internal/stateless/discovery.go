package stateless

import (
	"bytes"
	"context"
	"fmt"
	"sync"
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
// worker of the client's era. There is one for each era, since a server may settle for the era of its
// first message.
type discovery struct {
	session *statelessSession
	client  *session.Client
	profile atomic.Pointer[policy.Profile] // of discovery workers, by the configuration as it is now
	infos   clientinfo.Known
	cache   *answers.Cache
	tools   answers.Tools
	eras    [2]eraWorker
}

// eraWorker is a worker under the policy of Options.Tool(""). It is started when it is needed and
// stopped when it is idle.
type eraWorker struct {
	mu              sync.Mutex
	worker          *worker
	initializeReply *mcpproxy.Frame // its answer to initialize; nil in the modern era
	failed          failedStart
}

// failedStart is a start that failed. Requests that waited for it share the failure and
// start no other worker.
type failedStart struct {
	at     time.Time
	info   *clientinfo.Info
	answer *mcpproxy.Frame
	why    *diagnostics.Diagnosis
}

// worker returns the discovery worker of an era and its answer to the client's
// initialize. It starts the worker if there is none.
func (dv *discovery) worker(ctx context.Context, era mcpproxy.Era, info *clientinfo.Info) (*worker, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	dv.refresh(false) // before mu, which reloaded takes
	d := &dv.eras[eraIndex(era)]
	since := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.worker; w != nil {
		// In the modern era each request describes its client.
		if !session.IsClosed(w.proc.Done()) && (era == mcpproxy.Modern || w.info.Matches(info)) {
			w.touch()
			return w, d.initializeReply, nil
		}
		// It is dead, or past the handshake of another client.
		dv.client.Tasks.Go(w.stopWhenIdle)
		d.worker = nil
	}
	// The start that this request waited for has failed: one diagnosis serves all that waited.
	if f := &d.failed; f.why != nil && f.at.After(since) && f.info.Matches(info) {
		return nil, f.answer, f.why
	}
	w, greeting, why := dv.start(ctx, info)
	if why == nil {
		d.worker, d.initializeReply = w, greeting
	} else if ctx.Err() == nil { // else the request was cancelled
		d.failed = failedStart{time.Now(), info, greeting, why}
		dv.cache.Forget(info) // before the failure is answered: a server that does not start offers nothing
	}
	return w, greeting, why
}

func (dv *discovery) start(ctx context.Context, info *clientinfo.Info) (*worker, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	t, why := dv.session.resolveTool("")
	if why != nil {
		return nil, nil, why
	}
	w, why := dv.session.pool.startWorker(ctx, "", t, info, startOptions{})
	if why != nil {
		return nil, nil, why
	}
	w.touch()
	greeting, why := w.handshake(ctx)
	if why != nil {
		dv.client.Tasks.Go(w.stop)
		return nil, greeting, why
	}
	return w, greeting, nil
}

func eraIndex(era mcpproxy.Era) int {
	if era == mcpproxy.Modern {
		return 1
	}
	return 0
}

func (dv *discovery) remove(w *worker) {
	for i := range dv.eras {
		d := &dv.eras[i]
		d.mu.Lock()
		if d.worker == w {
			d.worker = nil
		}
		d.mu.Unlock()
	}
}

func (dv *discovery) stopIdle(now time.Time) {
	for i := range dv.eras {
		d := &dv.eras[i]
		if !d.mu.TryLock() {
			continue // it is being started
		}
		// A request that comes now waits for mu, and then starts another worker.
		if w := d.worker; w != nil && w.idleTime(now) > dv.client.Times.DiscoveryIdle {
			d.worker = nil
			dv.client.Tasks.Go(w.stop)
		}
		d.mu.Unlock()
	}
}

func (w *worker) stopWhenIdle() {
	w.mu.Lock()
	for len(w.requests)+len(w.waiters) > 0 && !w.removed {
		w.freed.Wait()
	}
	w.mu.Unlock()
	w.stop()
}

func (dv *discovery) stop() {
	for i := range dv.eras {
		d := &dv.eras[i]
		dv.client.Tasks.Go(func() {
			d.mu.Lock()
			w := d.worker
			d.worker = nil
			d.mu.Unlock()
			if w != nil {
				w.stop()
			}
		})
	}
}

func (w *worker) touch() {
	w.mu.Lock()
	w.lastUsed = time.Now()
	w.mu.Unlock()
}

func (w *worker) idleTime(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) > 0 || len(w.waiters) > 0 {
		return 0
	}
	return now.Sub(w.lastUsed)
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
	_, greeting, d := dv.worker(ctx, mcpproxy.Legacy, info)
	if greeting == nil {
		dv.session.dispatcher.fail(rq, *d)
		return
	}
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
	w, _, d := dv.worker(ctx, mcpproxy.Modern, info)
	if d != nil {
		dv.session.dispatcher.fail(rq, *d)
		return
	}
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
		isRead := func() bool { return !w.queue.IsPending() && streams.UnreadBytes(w.server.Pipes.Stdin) == 0 }
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
	case ctx.Err() != nil:
		dv.session.dispatcher.dropRequest(rq)
	case err == errExited:
		dv.declineDiscover(rq, fmt.Sprintf("ended on server/discover (%s)", session.ExitText(w.exit)))
	case asking.Err() != nil:
		dv.remove(w)
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
	info := rq.info
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
	for again := false; ; again = true {
		w, _, d := dv.worker(ctx, rq.era, info)
		if d != nil {
			dv.session.dispatcher.fail(rq, *d)
			return
		}
		at := w.assign(ctx, rq)
		if at == nil {
			return
		}
		select {
		case <-rq.done:
			return
		case <-ctx.Done():
			dv.session.dispatcher.dropRequest(rq)
			return
		case <-w.ended:
		}
		if session.IsClosed(rq.done) {
			return
		}
		// The worker has read none of the request, so another one may get it, once.
		if !again && w.notRead(at) { // it was ending when the request came
			continue
		}
		stage := diagnostics.StageCall
		if session.IsDiscoveryMethod(rq.method) {
			stage = diagnostics.StageList
		}
		ev := w.server.Evidence(stage, rq.call(), rq.start)
		w.addExit(&ev)
		dv.session.dispatcher.fail(rq, w.server.Diagnose(ev))
		return
	}
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
