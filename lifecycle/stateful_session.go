package lifecycle

import (
	"context"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// statefulSession is a running session of a stateful server.
type statefulSession struct {
	client   *client
	server   server
	upstream upstream

	lists   openLists // if client.tools is nil, it has only the levels of log messages
	refresh refresher

	requestSent      chan struct{} // gets a value for a request before the first answer
	discoverDeclined chan struct{} // gets a value when the server answers server/discover with an error
	answered         event         // the server has given its first answer
	refused          chan struct{} // gets a value when a request was refused

	checkedStartup bool // see reportStartupComplaint; used by the goroutine that reads the server
}

func newStatefulSession(s Session) *statefulSession {
	r := &statefulSession{refused: make(chan struct{}, 1), requestSent: make(chan struct{}, 1), discoverDeclined: make(chan struct{}, 1)}
	r.answered.done = make(chan struct{})
	r.upstream.guard.init()
	if s.Profile == nil {
		s.Profile = &policy.Profile{}
	}
	r.client = newClient(s, r.hooks(), r.server.recordedDenials, func() int { return len(r.server.processes.denials()) })
	r.server.init(r.client, s.Profile)
	r.refresh.start(r.client)
	if r.client.tools != nil {
		r.client.tools.redact = r.server.redact
	}
	r.upstream.onRefused = func(d diagnostics.Diagnosis) {
		r.client.refuseAll(d)
		select {
		case r.refused <- struct{}{}:
		default:
		}
	}
	return r
}

// finish ends the session: see client.finish.
func (s *statefulSession) finish(ctx context.Context, ends <-chan os.Signal) {
	s.upstream.guard.ready.set()
	s.refresh.stop()
	s.client.finish(ctx, ends, func() {
		if s.server.pipes != nil {
			s.server.pipes.closeOwnEnds()
		}
	})
}

// answerUntilClosed answers every request with d until the client has closed its stdin or
// has been silent for long enough. Clients of both eras hide errors of server/discover, so
// that the next request needs the same answer.
func (s *statefulSession) answerUntilClosed(ctx context.Context, ends <-chan os.Signal, d diagnostics.Diagnosis) {
	s.upstream.fail(d)
	if s.client.inputEnded == nil {
		s.client.startReading(func() error { return s.client.proxy.RunClient(&s.upstream) })
	}
	s.client.tasks.Go(func() { s.client.refuseAll(d) })
	if isTerminal(s.client.config.In) {
		return // a person has read the diagnosis on stderr
	}
	wait := s.client.config.Linger
	if s.client.requested.isSet() {
		wait = s.client.times.afterRefusal
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-s.client.inputEnded:
			return
		case <-ends:
			s.client.shortenDeadline()
			return
		case <-ctx.Done():
			s.client.shortenDeadline()
			return
		case <-timer.C:
			return
		case <-s.refused:
			timer.Reset(s.client.times.afterRefusal)
		}
	}
}

// isTerminal reports whether f is a terminal. It does not call f.Fd, which would make
// the file blocking for every process that shares it.
func isTerminal(f *os.File) (is bool) {
	conn, err := f.SyscallConn()
	return err == nil && conn.Control(func(fd uintptr) { is = isatty.IsTerminal(fd) }) == nil && is
}
