package lifecycle

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// endCause is how the life of a process came to its end.
type endCause struct {
	byClient       bool                   // the client closed its end first
	signalled      bool                   // a signal, or ctx, ended the session
	killed         bool                   // we have sent SIGTERM, and not because of a signal to us
	untouched      bool                   // the server has read nothing of an opening server/discover
	startupTimeout *diagnostics.Diagnosis // the server gave no first answer in time; else nil
}

// wait waits until the process has ended, and ends it when the session is over (package
// comment, "A stateful server"). ends delivers signals. replayed is closed once the process
// has the frames that an earlier process got. serverEnded is closed when the server's
// stdout is at its end.
func (s *statefulSession) wait(ctx context.Context, ends <-chan os.Signal, proc Process, replayed, serverEnded <-chan struct{}) endCause {
	w := processWait{session: s, proc: proc, startup: startupTimer{session: s}}
	w.startup.arm() // for requests that were sent to the server before this one
	answered, cancelled := s.answered.done, ctx.Done()
	quit := make(chan struct{})
	defer close(quit)
	ignored := s.watchDiscover(quit)
	stuck := time.NewTicker(s.client.times.term)
	defer stuck.Stop()
	dead, stopHangup := watchHangup(s.client.config.In, s.client.config.Out)
	defer stopHangup()
	for {
		select {
		case <-proc.Done():
			w.exited(ends)
			return w.cause
		case <-replayed:
			replayed, w.clientEnded = nil, s.client.inputEnded
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

		case <-ignored:
			ignored = nil
			s.answerDiscover(fmt.Sprintf("has ignored server/discover for %v", s.client.times.discover), false)
			s.upstream.guard.disabled.Store(true)
			w.startup.restart()
		case <-s.requestSent:
			w.startup.arm()
		case <-s.discoverDeclined:
			w.startup.restart()
		case <-answered:
			answered = nil
			w.startup.disarm()
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
	proc        Process
	cause       endCause
	startup     startupTimer
	clientEnded <-chan struct{}  // client.inputEnded; nil until the replay is over, and after endInput
	term, kill  <-chan time.Time // when to send SIGTERM, and when to kill the jail; nil if not planned
	bytesSent   int64            // how many frames had been begun at the last checkStuck: see sendStalled
}

// exited completes the cause after the process has ended.
func (w *processWait) exited(ends <-chan os.Signal) {
	client := w.session.client
	select { // a signal that came first counts; the select of wait chooses at random
	case <-ends:
		w.cause.signalled = true
		client.shortenDeadline()
	default:
	}
	w.cause.signalled = client.readLastRequest(ends) || w.cause.signalled
	w.cause.byClient = w.cause.byClient || isClosed(client.inputEnded)
	w.noteUntouched()
}

// noteUntouched records whether the server has left an opening server/discover unread. It must be
// called before the pipe to the server is closed.
func (w *processWait) noteUntouched() {
	if s := w.session; !w.cause.byClient && !w.cause.untouched {
		w.cause.untouched = s.upstream.guard.inputUntouched(unreadBytes(s.server.pipes.stdin))
	}
}

// endInput closes the server's stdin after the client has closed its own.
func (w *processWait) endInput() {
	s := w.session
	w.clientEnded, w.cause.byClient = nil, true
	s.server.pipes.stdin.Close()
	if !w.cause.signalled && !w.cause.killed {
		w.term = time.After(s.client.times.term)
	}
	if s.client.gone.isSet() {
		w.abandon()
	}
}

// endOutput closes the server's stdin after the server has closed its stdout. Nothing more
// can be relayed.
func (w *processWait) endOutput() {
	s := w.session
	w.noteUntouched()
	s.server.pipes.stdin.Close()
	if w.term == nil && w.kill == nil {
		w.term = time.After(s.client.times.term)
	}
	if w.cause.byClient && s.client.gone.isSet() {
		w.abandon()
	}
}

// abandon ends the server without delay, because the client has died.
func (w *processWait) abandon() {
	if w.cause.signalled || w.cause.killed {
		return
	}
	s := w.session
	s.client.gone.set()
	w.cause.byClient = true
	s.server.pipes.stdin.Close()
	w.terminate()
}

// terminate sends SIGTERM and plans the kill.
func (w *processWait) terminate() {
	w.cause.killed = true
	w.proc.Signal(syscall.SIGTERM)
	w.term, w.kill = nil, time.After(w.session.client.times.kill)
}

// forward sends a signal on to the server. The first one plans the kill.
func (w *processWait) forward(sig os.Signal) {
	w.proc.Signal(sig)
	if !w.cause.signalled {
		w.cause.signalled = true
		w.session.client.shortenDeadline()
		w.term, w.kill = nil, time.After(w.session.client.times.signal)
	}
}

// checkStuck ends the server if it does not read and the client has closed its stdin. While
// the server does not read, our reader does not come to the end of the client's stdin.
func (w *processWait) checkStuck() {
	s := w.session
	if s.upstream.sendStalled(&w.bytesSent) && w.clientEnded != nil && w.kill == nil && peerClosed(s.client.config.In) {
		w.cause.killed, w.cause.byClient = true, true
		w.proc.Signal(syscall.SIGTERM)
		w.kill = time.After(s.client.times.kill)
	}
}

// startupTimeout kills a server that has given no first answer in time.
func (w *processWait) startupTimeout() {
	s := w.session
	w.startup.disarm()
	if s.answered.isSet() || s.openRequests() == 0 {
		return
	}
	ev := s.server.evidence(diagnostics.StageStartup, nil, time.Time{})
	ev.Timeout = s.server.profile.Startup
	d := s.server.diagnose(ev)
	w.cause.startupTimeout = &d
	s.upstream.fail(d)
	w.proc.Kill()
}
