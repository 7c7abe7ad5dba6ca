package stateful

import (
	"context"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
)

// Run is lifecycle.RunStateful.
func Run(ctx context.Context, s session.Session) (exit confine.Exit, err error) {
	ends, caught, stop := streams.ListenForSignals()
	defer stop()
	r := newStatefulSession(s)
	defer r.finish(ctx, ends)
	if exit, ok, err := r.startOrLinger(ctx, ends); !ok {
		return exit, err
	}
	caught()
	return r.serve(ctx, ends)
}

// Refuse is lifecycle.Refuse.
func Refuse(ctx context.Context, s session.Session, d diagnostics.Diagnosis) {
	ends, _, stop := streams.ListenForSignals()
	defer stop()
	r := newStatefulSession(s)
	defer r.finish(ctx, ends)
	r.client.Record.Server = d.Server
	r.client.Announce(d)
	r.answerUntilClosed(ctx, ends, d)
}

// startOrLinger starts a process. If that fails, it answers the client with the reason
// until the session is over; ok is then false.
func (s *statefulSession) startOrLinger(ctx context.Context, ends <-chan os.Signal) (exit confine.Exit, ok bool, err error) {
	sig, err := s.start(ctx, ends)
	switch {
	case sig != nil:
		return session.EndedBy(sig), false, nil
	case err != nil:
		d, status := s.server.StartFailure(err)
		s.answerUntilClosed(ctx, ends, d)
		return confine.Exit{Code: status}, false, err
	}
	return confine.Exit{}, true, nil
}

// start starts the process. A signal during the start ends the session, and is returned.
func (s *statefulSession) start(ctx context.Context, ends <-chan os.Signal) (sig os.Signal, err error) {
	if s.server.Pipes, err = streams.NewPipes(); err != nil {
		return nil, err
	}
	defer s.server.Pipes.CloseServerEnds()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var proc session.Process
	// On its own goroutine, so that a signal is not held up by a slow jail.
	go func() {
		defer close(done)
		proc, err = s.server.Launch(starting)
	}()
	select {
	case <-done:
	case sig = <-ends:
	case <-ctx.Done():
		sig = syscall.SIGTERM
	}
	if sig == nil {
		if err == nil {
			s.server.Adopt(proc)
		}
		return nil, err
	}
	s.client.ShortenDeadline()
	cancel()
	<-done
	if err == nil {
		proc.Kill()
		proc.Wait()
	}
	return sig, nil
}

func (s *statefulSession) serve(ctx context.Context, ends <-chan os.Signal) (confine.Exit, error) {
	for revived := false; ; revived = true {
		how, exit, drained := s.relay(ctx, ends)
		if revived || !drained || !s.shouldRestart(how) {
			return s.finishRequests(ctx, ends, how, exit), nil
		}
		s.answerDiscover("ended on server/discover ("+session.ExitText(exit)+")", true)
		if !s.waitForMore(ctx, ends) {
			return exit, nil
		}
		s.server.Pipes.CloseOwnEnds()
		if exit, ok, err := s.startOrLinger(ctx, ends); !ok {
			return exit, err
		}
	}
}
