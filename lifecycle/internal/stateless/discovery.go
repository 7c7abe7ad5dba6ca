package stateless

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// discovery is a worker under the policy of Stateless.Tool(""). It answers requests that are no
// calls of tools. There is one for each era, since a server may settle for the era of its first
// message. It is started when it is needed and stopped when it is idle.
type discovery struct {
	mu              sync.Mutex
	worker          *worker
	initializeReply *mcpproxy.Frame // its answer to initialize; nil in the modern era
	failed          failedStart
}

// failedStart is a start that failed. Requests that waited for it share the failure and
// start no other worker.
type failedStart struct {
	at     time.Time
	info   *clientInfo
	answer *mcpproxy.Frame
	why    *diagnostics.Diagnosis
}

// discoveryWorker returns the discovery worker of an era and its answer to the client's
// initialize. It starts the worker if there is none.
func (s *statelessSession) discoveryWorker(ctx context.Context, era mcpproxy.Era, info *clientInfo) (*worker, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	s.refresh(false) // before mu, which reloaded takes
	d := &s.discoveries[eraIndex(era)]
	since := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.worker; w != nil {
		// In the modern era each request describes its client.
		if !session.IsClosed(w.proc.Done()) && (era == mcpproxy.Modern || w.info.matches(info)) {
			w.touch()
			return w, d.initializeReply, nil
		}
		s.client.Tasks.Go(w.stopWhenIdle)
		d.worker = nil
	}
	if f := &d.failed; f.why != nil && f.at.After(since) && f.info.matches(info) {
		return nil, f.answer, f.why
	}
	w, greeting, why := s.startDiscovery(ctx, info)
	if why == nil {
		d.worker, d.initializeReply = w, greeting
	} else if ctx.Err() == nil { // else the request was cancelled
		d.failed = failedStart{time.Now(), info, greeting, why}
		s.cache.invalidate(s, info) // before the failure is answered: a server that does not start offers nothing
	}
	return w, greeting, why
}

// startDiscovery starts a discovery worker and takes it through the handshake.
func (s *statelessSession) startDiscovery(ctx context.Context, info *clientInfo) (*worker, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	t, why := s.resolveTool("")
	if why != nil {
		return nil, nil, why
	}
	w, why := s.startWorker(ctx, "", t, info, false)
	if why != nil {
		return nil, nil, why
	}
	w.touch()
	greeting, why := w.handshake(ctx)
	if why != nil {
		s.client.Tasks.Go(w.stop)
		return nil, greeting, why
	}
	return w, greeting, nil
}

// eraIndex returns the place of an era in discoveries.
func eraIndex(era mcpproxy.Era) int {
	if era == mcpproxy.Modern {
		return 1
	}
	return 0
}

// removeDiscovery makes the next request start another discovery worker.
func (s *statelessSession) removeDiscovery(w *worker) {
	for i := range s.discoveries {
		d := &s.discoveries[i]
		d.mu.Lock()
		if d.worker == w {
			d.worker = nil
		}
		d.mu.Unlock()
	}
}

// stopIdleDiscovery stops discovery workers that have been idle for times.DiscoveryIdle.
func (s *statelessSession) stopIdleDiscovery(now time.Time) {
	for i := range s.discoveries {
		d := &s.discoveries[i]
		if !d.mu.TryLock() {
			continue // it is being started
		}
		if w := d.worker; w != nil && w.idleTime(now) > s.client.Times.DiscoveryIdle {
			d.worker = nil
			s.client.Tasks.Go(w.stop)
		}
		d.mu.Unlock()
	}
}

// stopWhenIdle stops a worker when it has answered all of its requests.
func (w *worker) stopWhenIdle() {
	w.mu.Lock()
	for len(w.requests)+len(w.waiters) > 0 && !w.removed {
		w.freed.Wait()
	}
	w.mu.Unlock()
	w.stop()
}

// stopDiscovery stops the discovery workers.
func (s *statelessSession) stopDiscovery() {
	for i := range s.discoveries {
		d := &s.discoveries[i]
		s.client.Tasks.Go(func() {
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

// touch makes the idle time of a worker start again.
func (w *worker) touch() {
	w.mu.Lock()
	w.lastUsed = time.Now()
	w.mu.Unlock()
}

// idleTime returns for how long the worker has had no request.
func (w *worker) idleTime(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) > 0 || len(w.waiters) > 0 {
		return 0
	}
	return now.Sub(w.lastUsed)
}

// answerInitialize answers the client's initialize: from the cache, or with the answer that the
// discovery worker gave to a copy of it.
func (s *statelessSession) answerInitialize(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if info == nil {
		s.decline(rq, "the handshake is too large to be repeated to each process")
		return
	}
	if a, ok := s.cache.lookup(s, info, rq); ok {
		s.respondHandshake(rq, a.member(), a.value, false)
		return
	}
	_, greeting, d := s.discoveryWorker(ctx, mcpproxy.Legacy, info)
	if greeting == nil {
		s.fail(rq, *d)
		return
	}
	e := &greeting.Messages[0]
	if e.Error.Present() {
		s.respondWith(rq, "error", greeting.Slice(e.Error))
		return
	}
	s.cache.store(s, info, rq, greeting, e)
	s.respondHandshake(rq, "result", greeting.Slice(e.Result), false)
}

// answerDiscover answers server/discover: from the cache, or with the discovery worker's
// answer. If the worker ends on it or ignores it, the session answers in its name: see
// discoverGuard.
func (s *statelessSession) answerDiscover(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if a, ok := s.cache.lookup(s, info, rq); ok {
		s.respondHandshake(rq, a.member(), a.value, true)
		return
	}
	w, _, d := s.discoveryWorker(ctx, mcpproxy.Modern, info)
	if d != nil {
		s.fail(rq, *d)
		return
	}
	line, whole := rq.frame.AppendTo(nil)
	if !whole {
		s.decline(rq, "the request is too large to be repeated")
		return
	}
	f := mcpproxy.Parse(line)
	w.server.Advertise(f, &f.Messages[0])
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	quit := make(chan struct{})
	defer close(quit)
	ignored := w.watchIgnored(quit)
	s.client.Tasks.Go(func() {
		select {
		case <-ignored:
			cancel()
		case <-quit:
		}
	})
	answer, err := w.request(asking, f, w.server.Profile.Startup)
	switch {
	case err == nil:
		e := &answer.Messages[0]
		s.cache.store(s, info, rq, answer, e)
		if e.Error.Present() {
			if !session.DeclinesMethod("server/discover", string(e.Code)) {
				ev := w.server.Evidence(diagnostics.StageList, rq.call(), time.Time{})
				ev.Text = session.FailureText(answer, e)
				w.server.Diagnose(ev)
			}
			s.respondWith(rq, "error", answer.Slice(e.Error))
			return
		}
		s.respondHandshake(rq, "result", answer.Slice(e.Result), true)
	case ctx.Err() != nil:
		s.dropRequest(rq)
	case err == errExited:
		s.declineDiscover(rq, fmt.Sprintf("ended on server/discover (%s)", session.ExitText(w.exit)))
	case asking.Err() != nil:
		s.removeDiscovery(w)
		s.declineDiscover(rq, fmt.Sprintf("has ignored server/discover for %v", s.client.Times.Discover))
		w.kill()
	default:
		s.fail(rq, *w.startupFailure(ctx, err))
	}
}

// declineDiscover answers server/discover in the server's name.
func (s *statelessSession) declineDiscover(rq *clientRequest, why string) {
	s.client.Log.Info().Str("server", s.serverName).Str("why", why).Msg("answered server/discover in the server's name")
	s.respondWith(rq, "error", session.DeclinedDiscover(s.serverName, why))
}

// answerFromDiscovery answers a request from the cache, or has the discovery worker answer
// it.
func (s *statelessSession) answerFromDiscovery(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if isCacheable(rq.method) {
		if a, ok := s.cache.lookup(s, info, rq); ok {
			if d := s.checkList(rq, a.value); d != nil {
				s.fail(rq, *d)
				return
			}
			s.onToolsList(rq, a.value)
			s.respondWith(rq, a.member(), a.value)
			return
		}
		rq.onResponse = func(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
			if e.Result.Present() {
				if d := s.checkList(rq, f.Slice(e.Result)); d != nil {
					f.Replace(e.Self, bytes.TrimSuffix(d.ErrorFrame(rq.id), []byte{'\n'}))
					return
				}
			}
			s.cache.store(s, info, rq, f, e)
			if e.Result.Present() {
				s.onToolsList(rq, f.Slice(e.Result))
			}
		}
	}
	for again := false; ; again = true {
		w, _, d := s.discoveryWorker(ctx, rq.era, info)
		if d != nil {
			s.fail(rq, *d)
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
			s.dropRequest(rq)
			return
		case <-w.ended:
		}
		if session.IsClosed(rq.done) {
			return
		}
		if !again && w.notRead(at) { // it was ending when the request came
			continue
		}
		stage := diagnostics.StageCall
		if session.IsDiscoveryMethod(rq.method) {
			stage = diagnostics.StageList
		}
		ev := w.server.Evidence(stage, rq.call(), rq.start)
		w.addExit(&ev)
		s.fail(rq, w.server.Diagnose(ev))
		return
	}
}

// stripCapabilities removes from an answer to a handshake the capabilities that need a
// process that lives on: notifications of changes, and tasks. listChanged of tools and
// prompts stays in the legacy era, since we send those notifications ourselves.
func stripCapabilities(result []byte, modern bool) []byte {
	return session.ReplaceMember(result, "capabilities", func(capabilities []byte) []byte {
		capabilities = session.FilterMembers(capabilities, func(name string) bool { return name != "tasks" })
		capabilities = session.ReplaceMember(capabilities, "resources", func(r []byte) []byte {
			return session.FilterMembers(r, func(name string) bool { return name != "subscribe" && name != "listChanged" })
		})
		if modern { // acknowledgeSubscription honours no filter
			for _, kind := range []string{"tools", "prompts"} {
				capabilities = session.ReplaceMember(capabilities, kind, func(r []byte) []byte {
					return session.FilterMembers(r, func(name string) bool { return name != "listChanged" })
				})
			}
		}
		return capabilities
	})
}
