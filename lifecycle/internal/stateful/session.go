package stateful

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// statefulSession is a running session of a stateful server.
type statefulSession struct {
	client   *session.Client
	current  atomic.Pointer[session.Server]
	heir     heirs // see heir.go
	upstream upstream
	calls    openCalls
	refresh  refresher

	answered         session.Event // the server has given its first answer
	refused          chan struct{} // gets a value when a request was refused
	requestSent      chan struct{} // gets a value for a request before the first answer
	discoverDeclined chan struct{} // gets a value when the server answers server/discover with an error

	checkedStartup bool // see reportStartupComplaint; used by the goroutine that reads the server
}

func newStatefulSession(s session.Session) *statefulSession {
	r := &statefulSession{refused: make(chan struct{}, 1), requestSent: make(chan struct{}, 1), discoverDeclined: make(chan struct{}, 1)}
	r.answered = session.Event{Done: make(chan struct{})}
	r.upstream.guard.init()
	if s.Profile == nil {
		s.Profile = &policy.Profile{}
	}
	r.current.Store(&session.Server{})
	r.client = session.NewClient(s, r.hooks(), func() []policy.Denial { return r.server().RecordedDenials() }, func() int { return len(r.server().Processes.Denials()) })
	r.calls = openCalls{r.client.Proxy}
	r.client.Logs.Open = func() bool { return r.client.Proxy.Requests.Has(func(c *mcpproxy.Call) bool { return c.Logs }) }
	r.server().Init(r.client, s.Profile)
	r.server().CertainReads = s.Reads
	r.heir.init(r.client.Tools.Enforces(), r.client.Proxy.Requests)
	r.refresh.start(r.client, r.succeed, func() {
		r.client.Tasks.Go(func() { r.tellChanged("tools") }) // the client may not read
	})
	if r.client.Tools != nil {
		r.client.Tools.Redact = r.server().Redact
	}
	if s.Typed != "" {
		r.upstream.onFrame = r.client.ExplainTyped
	}
	r.upstream.onRefused = func(d diagnostics.Diagnosis) {
		r.calls.refuse(d)
		select {
		case r.refused <- struct{}{}:
		default:
		}
	}
	return r
}

// server returns the process that the client has now.
func (s *statefulSession) server() *session.Server { return s.current.Load() }

func (s *statefulSession) finish(ctx context.Context, ends <-chan os.Signal) {
	s.upstream.guard.ready.Set()
	s.heir.cancel()
	s.refresh.stop()
	s.client.Finish(ctx, ends, func() {
		if s.server().Pipes != nil {
			s.server().Pipes.CloseOwnEnds()
		}
	})
}

// answerUntilClosed answers every request with d until the client has closed its stdin or
// has been silent for long enough. Clients of both eras hide errors of server/discover, so
// that the next request needs the same answer.
func (s *statefulSession) answerUntilClosed(ctx context.Context, ends <-chan os.Signal, d diagnostics.Diagnosis) {
	s.upstream.fail(d)
	if s.client.InputEnded == nil {
		s.client.StartReading(func() error { return s.client.Proxy.RunClient(&s.upstream) })
	}
	s.client.Tasks.Go(func() { s.calls.refuse(d) })
	if isTerminal(s.client.Config.In) {
		return // a person has read the diagnosis on stderr
	}
	wait := s.client.Config.Linger
	if s.client.Requested.IsSet() {
		wait = s.client.Times.AfterRefusal
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-s.client.InputEnded:
			return
		case <-ends:
			s.client.ShortenDeadline()
			return
		case <-ctx.Done():
			s.client.ShortenDeadline()
			return
		case <-timer.C:
			return
		case <-s.refused:
			timer.Reset(s.client.Times.AfterRefusal)
		}
	}
}

func isTerminal(f *os.File) (is bool) {
	// f.Fd would make the file blocking for every process that shares it.
	conn, err := f.SyscallConn()
	return err == nil && conn.Control(func(fd uintptr) { is = isatty.IsTerminal(fd) }) == nil && is
}

// upstream is where the client's frames go: to the server while there is one, and after a
// failure into a diagnosis that answers every request.
//
// Invariant: a request is in the table before it is sent, and fail sets failed before the
// table is emptied. So each request is answered exactly once.
type upstream struct {
	server    atomic.Pointer[mcpproxy.Conn]
	guard     discoverGuard
	failed    atomic.Pointer[diagnostics.Diagnosis]
	onFrame   func(*mcpproxy.Frame)       // called for each frame; may be nil
	onRefused func(diagnostics.Diagnosis) // called for each frame after failed is set

	sendsBegun, sendsDone atomic.Int64 // frames for the server: see sendStalled
}

// sendStalled reports whether the same frame is being sent as at the last call. *last is
// how many had been begun then.
func (u *upstream) sendStalled(last *int64) bool {
	begun := u.sendsBegun.Load()
	same := begun == *last
	*last = begun
	return same && u.sendsDone.Load() != begun
}

func (u *upstream) fail(d diagnostics.Diagnosis) {
	u.failed.CompareAndSwap(nil, &d)
	u.guard.ready.Set()
}

// Send implements mcpproxy.Upstream. It never fails: a server that no longer reads is
// about to end, and then every open request is answered.
func (u *upstream) Send(f *mcpproxy.Frame) error {
	if u.onFrame != nil {
		u.onFrame(f)
	}
	if d := u.failed.Load(); d != nil {
		u.onRefused(*d)
		return nil
	}
	var server *mcpproxy.Conn
	probe := false
	if u.guard.disabled.Load() {
		server = u.server.Load()
	} else {
		server, probe = u.guard.beforeSend(f, &u.server)
	}
	if server != nil {
		u.sendsBegun.Add(1)
		err := server.Send(f)
		u.sendsDone.Add(1)
		if probe && err == nil {
			u.guard.markSent()
		}
	}
	if d := u.failed.Load(); d != nil {
		u.onRefused(*d)
	}
	return nil
}

func (s *statefulSession) finishRequests(ctx context.Context, ends <-chan os.Signal, how endCause, exit confine.Exit) confine.Exit {
	if !how.signalled && !how.byClient && !s.client.Gone.IsSet() {
		s.client.EndedBy = session.ByServer
		if exit.Why != "" { // the jail has ended it
			s.client.EndedBy = session.ByUs
		}
	}
	switch {
	case how.startupTimeout != nil:
		s.client.EndedBy = session.ByUs
		s.answerUntilClosed(ctx, ends, *how.startupTimeout)
		return confine.Exit{Code: session.StatusFailed}
	case how.signalled, s.client.Gone.IsSet(): // no client waits for answers
	case s.answered.IsSet():
		s.answerOpenCalls(how, exit)
	case how.byClient && s.client.Proxy.Requests.Len() == 0: // the client has asked nothing
	case how.byClient && !how.untouched && s.onlyDiscoverOpen():
		// The client has probed the server and thrown it away. It needs no reason.
		s.answerDiscover("did not answer server/discover")
	default:
		ended := diagnostics.Exit(exit)
		ev := s.server().Evidence(diagnostics.StageStartup, nil, time.Time{})
		ev.Exit = &ended
		s.answerUntilClosed(ctx, ends, s.server().Diagnose(ev))
	}
	return exit
}

func (s *statefulSession) answerOpenCalls(how endCause, exit confine.Exit) {
	ended := diagnostics.Exit(exit)
	ev := s.server().Evidence(diagnostics.StageCall, nil, time.Now().Add(-s.client.Times.Kill))
	ev.Exit = &ended
	d := diagnose.Failure(ev)
	calls := s.calls.claim(anyCall)
	// From now on new requests get d, and those before it are in one of the two lists.
	s.upstream.fail(d)
	calls = append(calls, s.calls.claim(anyCall)...) // that came in between
	if len(calls) == 0 {
		if !how.byClient && exit.Code != 0 {
			s.client.Announce(d)
		}
		return
	}
	explain := s.server().Diagnose
	if how.byClient && (exit.Code == 0 || how.killed) {
		// The client has left during a request, as it always does during a
		// subscriptions/listen (2026-07-28). The request gets an answer, but the diagnosis
		// is not announced, since nothing failed.
		explain = diagnose.Failure
	}
	s.client.Tasks.Go(func() {
		s.calls.answer(calls, s.endDiagnoses(explain, ended, calls[0].Start))
	})
}

// endDiagnoses returns a function that says why a call got no answer from a server that has
// ended. The first of the open calls began at since: what was refused during any of them can have
// ended the server. Calls of the same method and tool share one diagnosis.
func (s *statefulSession) endDiagnoses(explain func(diagnostics.Evidence) diagnostics.Diagnosis, ended diagnostics.Exit, since time.Time) func(*mcpproxy.Call) diagnostics.Diagnosis {
	type request struct{ method, tool string }
	known := map[request]diagnostics.Diagnosis{}
	return func(c *mcpproxy.Call) diagnostics.Diagnosis {
		key := request{string(c.Method), string(c.Tool)}
		d, ok := known[key]
		if !ok {
			stage := diagnostics.StageCall
			if session.IsDiscoveryMethod(key.method) {
				stage = diagnostics.StageList
			}
			ev := s.server().Evidence(stage, c, since)
			ev.Exit = &ended
			d = explain(ev)
			known[key] = d
		}
		return d
	}
}

// openCalls are the client's requests that wait for an answer.
type openCalls struct{ proxy *mcpproxy.Proxy }

// claim marks the requests that match as answered by us and returns them, oldest first. A later answer
// of the server to one of them is dropped.
func (o openCalls) claim(match func(*mcpproxy.Call) bool) []mcpproxy.Call {
	calls := o.proxy.Requests.Answer(match)
	slices.SortStableFunc(calls, func(a, b mcpproxy.Call) int { return a.Start.Compare(b.Start) })
	return calls
}

func anyCall(*mcpproxy.Call) bool { return true }

// answer sends the client one error for each call. The errors for the calls of one batch form one array
// (JSON-RPC 2.0, "Batch").
func (o openCalls) answer(calls []mcpproxy.Call, explain func(*mcpproxy.Call) diagnostics.Diagnosis) {
	for len(calls) > 0 {
		first := &calls[0]
		if first.Batch == 0 {
			o.proxy.Client.Inject(explain(first).ErrorFrame(first.ID))
			calls = calls[1:]
			continue
		}
		var same, rest []mcpproxy.Call
		for _, c := range calls {
			if c.Batch == first.Batch {
				same = append(same, c)
			} else {
				rest = append(rest, c)
			}
		}
		o.answerBatch(same, explain)
		calls = rest
	}
}

func (o openCalls) answerBatch(calls []mcpproxy.Call, explain func(*mcpproxy.Call) diagnostics.Diagnosis) {
	var errors [][]byte
	for i := range calls {
		if frame := bytes.TrimSpace(explain(&calls[i]).ErrorFrame(calls[i].ID)); len(frame) > 0 {
			errors = append(errors, frame)
		}
	}
	if errors != nil {
		o.proxy.Client.Inject(session.JSONArray(errors))
	}
}

// refuse answers all of them with one diagnosis.
func (o openCalls) refuse(d diagnostics.Diagnosis) {
	o.answer(o.claim(anyCall), func(*mcpproxy.Call) diagnostics.Diagnosis { return d })
}

func (o openCalls) count() (n int) {
	o.proxy.Requests.Each(func(*mcpproxy.Call) { n++ })
	return n
}

// limited reports whether a request is open for whose answer the startup timeout is.
func (o openCalls) limited() bool { return o.proxy.Requests.Has(isNoDiscover) }

func isNoDiscover(c *mcpproxy.Call) bool { return string(c.Method) != methodDiscover }

// oldest returns a copy of the request that has waited for longest, or nil.
func (o openCalls) oldest() (oldest *mcpproxy.Call) {
	o.proxy.Requests.Each(func(c *mcpproxy.Call) {
		if oldest == nil || c.Start.Before(oldest.Start) {
			oldest = &mcpproxy.Call{Method: slices.Clone(c.Method), Tool: slices.Clone(c.Tool), Start: c.Start}
		}
	})
	return oldest
}

// id returns the id of a request that matches, or nil.
func (o openCalls) id(match func(*mcpproxy.Call) bool) (id []byte) {
	o.proxy.Requests.Each(func(c *mcpproxy.Call) {
		if id == nil && match(c) {
			id = bytes.Clone(c.ID)
		}
	})
	return id
}

// others reports whether a tool is called beside the request with this id.
func (o openCalls) others(id []byte) bool {
	own := mcpproxy.IDKey(id)
	return o.id(func(c *mcpproxy.Call) bool { return string(c.Method) == "tools/call" && mcpproxy.IDKey(c.ID) != own }) != nil
}
