package stateful

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
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
	r.client.Record.Server, r.client.EndedBy = d.Server, session.ByUs
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
		s.client.EndedBy = session.ByUs
		d, status := s.server().StartFailure(err)
		s.answerUntilClosed(ctx, ends, d)
		return confine.Exit{Code: status}, false, err
	}
	return confine.Exit{}, true, nil
}

// start starts the process. A signal during the start ends the session, and is returned.
func (s *statefulSession) start(ctx context.Context, ends <-chan os.Signal) (sig os.Signal, err error) {
	if s.server().Pipes, err = streams.NewPipes(); err != nil {
		return nil, err
	}
	defer s.server().Pipes.CloseServerEnds()
	starting, cancel := context.WithCancel(s.startContext(ctx))
	defer cancel()
	done := make(chan struct{})
	var proc session.Process
	// On its own goroutine, so that a signal is not held up by a slow jail.
	go func() {
		defer close(done)
		proc, err = s.server().Launch(starting)
	}()
	select {
	case <-done:
	case sig = <-ends:
	case <-ctx.Done():
		sig = syscall.SIGTERM
	}
	if sig == nil {
		if err == nil {
			s.server().Adopt(proc)
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

// startContext returns the context of a start, which says whether its jail records refused reads.
func (s *statefulSession) startContext(ctx context.Context) context.Context {
	if s.client.Config.Reads {
		ctx = session.WithReads(ctx)
	}
	return ctx
}

func (s *statefulSession) serve(ctx context.Context, ends <-chan os.Signal) (confine.Exit, error) {
	var h *heir
	for revived := false; ; revived = true {
		how, exit, drained := s.relay(ctx, ends, h)
		if h = how.heir; h != nil { // the old one was ended for it
			over := how.byClient || how.signalled || !drained
			if over {
				h.next.Done(false)
				s.client.Tasks.Go(h.end)
			} else {
				s.adopt(h)
			}
			how.resume()
			if !over {
				continue
			}
		}
		if revived || !drained || !s.shouldRestart(how) {
			s.heir.cancel()
			return s.finishRequests(ctx, ends, how, exit), nil
		}
		s.answerDiscover("ended on server/discover (" + session.ExitText(exit) + ")")
		if !s.waitForMore(ctx, ends) {
			return exit, nil
		}
		s.server().Pipes.CloseOwnEnds()
		if exit, ok, err := s.startOrLinger(ctx, ends); !ok {
			return exit, err
		}
	}
}

// relay relays until the process has ended. drained says that all of its output was
// relayed and no goroutine reads it any more.
func (s *statefulSession) relay(ctx context.Context, ends <-chan os.Signal, h *heir) (how endCause, exit confine.Exit, drained bool) {
	pipes, proc := s.server().Pipes, s.server().Processes.Current
	replayed, isHeir := make(chan struct{}), h != nil
	if !isHeir {
		h = &heir{server: s.server(), proc: proc, conn: mcpproxy.NewConn(pipes.Stdout, pipes.Stdin, s.client.Limit()), serverEnded: make(chan struct{}), stderrEnded: make(chan struct{})}
		s.readServer(h)
	}
	server, serverEnded, stderrEnded := h.conn, h.serverEnded, h.stderrEnded
	// It is the first process. A later one first gets what the client sent to the one before.
	if isHeir {
		close(replayed)
	} else if s.client.InputEnded == nil {
		close(replayed)
		s.upstream.server.Store(server)
		s.client.StartReading(func() error { return s.client.Proxy.RunClient(&s.upstream) })
	} else {
		s.client.Tasks.Go(func() {
			defer close(replayed)
			s.upstream.guard.replay(server, &s.upstream.server)
		})
	}
	stopWatch := s.watchCallTimes()
	how = s.wait(ctx, ends, proc, replayed, serverEnded)
	stopWatch()
	if how.heir == nil {
		s.client.Tasks.Go(s.client.Questions.End) // what the server has written may wait for an answer
	}

	exit, _ = proc.Wait()
	pipes.Stdin.Close()
	idle, total := s.client.Remaining(s.client.Times.DrainIdle), s.client.Remaining(s.client.Times.DrainTotal)
	// A descendant may hold the pipes open: what is in them is read, and no more waited for.
	pipes.Stderr.StartDrain(idle, total)
	pipes.Stdout.StartDrain(idle, total)
	s.client.WaitUnlessStalled(ctx, ends, serverEnded)
	s.client.WaitUnlessStalled(ctx, ends, stderrEnded)
	return how, exit, session.IsClosed(serverEnded) && session.IsClosed(stderrEnded)
}

// readServer relays what a process writes, on goroutines.
func (s *statefulSession) readServer(h *heir) {
	h.conn.Large = h.server.Pipes.Stdout.Large
	s.client.Tasks.Go(func() {
		defer close(h.serverEnded)
		if err := s.client.Proxy.RunServer(h.conn); errors.Is(err, mcpproxy.ErrClientGone) {
			s.client.Gone.Set()
			s.client.Tasks.Go(func() { io.Copy(io.Discard, h.server.Pipes.Stdout) })
		}
	})
	s.client.Tasks.Go(func() {
		defer close(h.stderrEnded)
		h.server.PumpStderr(h.server.Pipes.Stderr, func() bool { return true })
	})
}
