package stateful

import (
	"context"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
)

// statefulSession is a running session of a stateful server.
type statefulSession struct {
	client   *session.Client
	server   session.Server
	upstream upstream
	calls    openCalls
	messages inspection

	answered session.Event // the server has given its first answer
	refused  chan struct{} // gets a value when a request was refused
}

func newStatefulSession(s session.Session) *statefulSession {
	r := &statefulSession{refused: make(chan struct{}, 1)}
	r.answered = session.Event{Done: make(chan struct{})}
	r.upstream.guard.init()
	if s.Profile == nil {
		s.Profile = &policy.Profile{}
	}
	r.messages = inspection{server: &r.server, upstream: &r.upstream, answered: &r.answered, requestSent: make(chan struct{}, 1), discoverDeclined: make(chan struct{}, 1)}
	r.client = session.NewClient(s, r.messages.hooks(), r.server.RecordedDenials, func() int { return len(r.server.Processes.Denials()) }, func() []*session.Server { return []*session.Server{&r.server} })
	r.calls = openCalls{r.client.Proxy}
	r.messages.client, r.messages.calls = r.client, r.calls
	r.client.Logs.IsOpen = r.calls.has
	r.server.Init(r.client, s.Profile)
	r.messages.refresh.start(r.client)
	if r.client.Tools != nil {
		r.client.Tools.Redact = r.server.Redact
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

func (s *statefulSession) finish(ctx context.Context, ends <-chan os.Signal) {
	s.upstream.guard.ready.Set()
	s.messages.refresh.stop()
	s.client.Finish(ctx, ends, func() {
		if s.server.Pipes != nil {
			s.server.Pipes.CloseOwnEnds()
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
