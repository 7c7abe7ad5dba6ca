package stateful

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// endCause is how the life of a process came to its end.
type endCause struct {
	byClient       bool                   // the client closed its end first
	signalled      bool                   // a signal, or ctx, ended the session
	killed         bool                   // we have sent SIGTERM, and not because of a signal to us
	untouched      bool                   // the server has read nothing of an opening server/discover
	startupTimeout *diagnostics.Diagnosis // the server gave no first answer in time; else nil
	heir           *heir                  // the process was ended for this one; else nil
	resume         func()                 // lets the client's frames go on, then
}

// wait waits until the process has ended, and ends it when the session is over (package
// comment, "A stateful server"). ends delivers signals. replayed is closed once the process
// has the frames that an earlier process got. serverEnded is closed when the server's
// stdout is at its end.
func (s *statefulSession) wait(ctx context.Context, ends <-chan os.Signal, proc session.Process, replayed, serverEnded <-chan struct{}) endCause {
	w := processWait{session: s, proc: proc, startup: startupTimer{session: s}}
	w.startup.arm() // for requests that were sent to the server before this one
	answered, cancelled := s.answered.Done, ctx.Done()
	stuck := time.NewTicker(s.client.Times.Term)
	defer stuck.Stop()
	dead, stopHangup := streams.WatchHangup(s.client.Config.In, s.client.Config.Out)
	defer stopHangup()
	defer w.dropHeir(refuse)
	for {
		select {
		case <-proc.Done():
			w.exited(ends)
			return w.cause
		case <-replayed:
			replayed, w.clientEnded = nil, s.client.InputEnded
		case <-w.clientEnded:
			w.endInput()
		case <-serverEnded:
			serverEnded = nil
			w.endOutput()
		case <-dead:
			dead = nil
			w.abandon()
		case sig := <-ends:
			w.forward(sig)
		case <-cancelled:
			cancelled = nil
			w.forward(syscall.SIGTERM)
		case <-w.term:
			w.terminate()
		case <-w.kill:
			w.kill = nil
			proc.Kill()
		case <-stuck.C:
			w.checkStuck()

		case <-s.requestSent:
			w.startup.arm()
		case <-s.discoverDeclined:
			w.startup.restart()
		case <-answered:
			answered = nil
			w.startup.disarm()
		case <-s.server().LoginSaid:
			w.noteLogin()
		case <-w.login:
			w.checkLogin()
		case h := <-s.heir.ready:
			w.takeHeir(h)
		case <-w.try:
			w.tryHeir()
		case <-w.startup.slow:
			w.startup.sayWaiting()
		case <-w.startup.silent:
			w.startupTimeout()
		}
	}
}

// processWait is the state of wait. Each method handles one event.
type processWait struct {
	session     *statefulSession
	proc        session.Process
	cause       endCause
	startup     startupTimer
	clientEnded <-chan struct{}  // client.InputEnded; nil until the replay is over, and after endInput
	term, kill  <-chan time.Time // when to send SIGTERM, and when to kill the jail; nil if not planned
	login       <-chan time.Time // when to checkLogin; nil: not planned
	loginSaid   time.Time        // when the server spoke of it
	toldLogin   bool
	heir        *heir            // waits to take over; else nil
	heirSince   time.Time        // when it began to wait
	try         <-chan time.Time // when to tryHeir
	framesBegun int64            // how many frames had been begun at the last checkStuck: see sendStalled
}

func (w *processWait) exited(ends <-chan os.Signal) {
	client := w.session.client
	select { // a signal that came first counts; the select of wait chooses at random
	case <-ends:
		w.cause.signalled = true
		client.ShortenDeadline()
	default:
	}
	// Our reader may not have run since the last request came.
	w.cause.signalled = client.ReadLastRequest(ends) || w.cause.signalled
	w.cause.byClient = w.cause.byClient || session.IsClosed(client.InputEnded)
	w.noteUntouched()
}

// noteUntouched records whether the server has left an opening server/discover unread. It must be
// called before the pipe to the server is closed.
func (w *processWait) noteUntouched() {
	if s := w.session; !w.cause.byClient && !w.cause.untouched {
		w.cause.untouched = s.upstream.guard.inputUntouched(streams.UnreadBytes(s.server().Pipes.Stdin))
	}
}

func (w *processWait) endInput() {
	s := w.session
	w.clientEnded, w.cause.byClient = nil, true
	s.server().Pipes.Stdin.Close()
	if !w.cause.signalled && !w.cause.killed {
		w.term = time.After(s.client.Times.Term)
	}
	if s.client.Gone.IsSet() {
		w.abandon()
	}
}

func (w *processWait) endOutput() {
	s := w.session
	w.noteUntouched()
	s.server().Pipes.Stdin.Close()
	if w.term == nil && w.kill == nil {
		w.term = time.After(s.client.Times.Term)
	}
	if w.cause.byClient && s.client.Gone.IsSet() {
		w.abandon()
	}
}

func (w *processWait) abandon() {
	if w.cause.signalled || w.cause.killed {
		return
	}
	s := w.session
	s.client.Gone.Set()
	w.cause.byClient = true
	s.server().Pipes.Stdin.Close()
	w.terminate()
}

// terminate ends the server, unless it has ended by itself just before: the select of wait chooses at random.
func (w *processWait) terminate() {
	if w.term = nil; session.IsClosed(w.proc.Done()) {
		return
	}
	w.cause.killed = true
	w.proc.Signal(syscall.SIGTERM)
	w.kill = time.After(w.session.client.Times.Kill)
}

func (w *processWait) forward(sig os.Signal) {
	w.proc.Signal(sig)
	// The first signal plans the kill.
	if !w.cause.signalled {
		w.cause.signalled = true
		w.session.client.ShortenDeadline()
		w.term, w.kill = nil, time.After(w.session.client.Times.Signal)
	}
}

// checkStuck ends the server if it does not read and the client has closed its stdin. While
// the server does not read, our reader does not come to the end of the client's stdin.
func (w *processWait) checkStuck() {
	s := w.session
	if s.upstream.sendStalled(&w.framesBegun) && w.clientEnded != nil && w.kill == nil && streams.PeerClosed(s.client.Config.In) {
		w.cause.killed, w.cause.byClient = true, true
		w.proc.Signal(syscall.SIGTERM)
		w.kill = time.After(s.client.Times.Kill)
	}
}

// noteLogin plans checkLogin for a text of the server that may be about a login.
func (w *processWait) noteLogin() {
	if w.login == nil && !w.toldLogin {
		w.loginSaid, w.login = time.Now(), time.After(w.session.client.Times.SlowNote)
	}
}

// checkLogin says what the server waits for, if a request has waited since before it spoke of a login.
func (w *processWait) checkLogin() {
	s := w.session
	w.login = nil
	oldest := s.calls.oldest()
	if oldest == nil || oldest.Start.After(w.loginSaid) {
		return
	}
	stage := diagnostics.StageCall
	if !s.answered.IsSet() {
		stage, oldest = diagnostics.StageStartup, nil
	}
	if d, ok := diagnose.Awaited(s.server().Evidence(stage, oldest, w.loginSaid)); ok {
		w.toldLogin = true
		s.server().Announce(d)
		return
	}
	w.login = time.After(s.client.Times.SlowRepeat) // it may listen later
}

func (w *processWait) startupTimeout() {
	s := w.session
	w.startup.disarm()
	if s.answered.IsSet() || !s.calls.limited() || session.IsClosed(w.proc.Done()) { // its end says more
		return
	}
	ev := s.server().Evidence(diagnostics.StageStartup, nil, time.Time{})
	ev.Timeout = s.server().Profile.Startup
	d := s.server().Diagnose(ev)
	w.cause.startupTimeout = &d
	s.upstream.fail(d)
	w.proc.Kill()
}

func (s *statefulSession) watchCallTimes() (stop func()) {
	limit := s.server().Profile.Call
	if limit <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	s.client.Tasks.Go(func() {
		ticker := time.NewTicker(min(max(limit/20, 5*time.Millisecond), time.Second))
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				s.warnSlow(now)
				s.answerTimedOut(now)
			case <-quit:
				return
			}
		}
	})
	return func() { close(quit) }
}

func (s *statefulSession) warnSlow(now time.Time) {
	limit := s.server().Profile.Call
	s.client.Proxy.Requests.Each(func(c *mcpproxy.Call) {
		if waited := now.Sub(c.Start); !c.Noted && string(c.Method) == "tools/call" && 2*waited >= limit && waited < limit {
			c.Noted = true
			s.client.Stderr.SayLine(fmt.Sprintf("waiting for the answer of server %q to a call of tool %q, for at most %v", s.server().Profile.Server, c.Tool, limit))
		}
	})
}

func (s *statefulSession) answerTimedOut(now time.Time) {
	limit := s.server().Profile.Call
	calls := s.calls.claim(func(c *mcpproxy.Call) bool {
		return string(c.Method) == "tools/call" && now.Sub(c.Start) >= limit
	})
	if len(calls) == 0 {
		return
	}
	s.calls.answer(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
		ev := s.server().Evidence(diagnostics.StageCall, c, c.Start)
		ev.Timeout = limit
		return s.server().DiagnoseCall(ev)
	})
	for i := range calls {
		s.heir.noteCancelled()
		s.server().SendAsync(s.upstream.server.Load(), session.Cancellation(calls[i].ID, "timed out"))
	}
}

// startupTimer measures how long a server takes to its first answer. It starts with the
// first request and not with the process, since a server may be silent until it is asked. While nothing but
// server/discover is open there is no limit: the client decides how long it waits. An error to server/discover does not count as the first answer, but stops the timer until the next
// request.
type startupTimer struct {
	session      *statefulSession
	slow, silent <-chan time.Time
	since        time.Time
}

func (t *startupTimer) arm() {
	if t.session.answered.IsSet() || t.session.calls.count() == 0 {
		return
	}
	if t.slow == nil {
		t.since = time.Now()
		t.slow = time.After(t.session.client.Times.SlowNote)
	}
	if limit := t.session.server().Profile.Startup; limit > 0 && t.silent == nil && t.session.calls.limited() {
		t.silent = time.After(limit)
	}
}

func (t *startupTimer) disarm() { t.slow, t.silent = nil, nil }

func (t *startupTimer) restart() {
	t.disarm()
	t.arm()
}

func (t *startupTimer) sayWaiting() {
	s := t.session
	limit := ""
	if t.silent != nil {
		limit = fmt.Sprintf(", for at most %v", s.server().Profile.Startup)
	}
	s.client.Stderr.SayLine(fmt.Sprintf("waiting for the first answer of server %q%s; %v so far", s.server().Profile.Server, limit, time.Since(t.since).Round(100*time.Millisecond)))
	t.slow = time.After(s.client.Times.SlowRepeat)
}
