package stateful

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// relay relays until the process has ended. drained says that all of its output was
// relayed and no goroutine reads it any more.
func (s *statefulSession) relay(ctx context.Context, ends <-chan os.Signal) (how endCause, exit confine.Exit, drained bool) {
	pipes, proc := s.server.Pipes, s.server.Processes.Current
	server := mcpproxy.NewConn(pipes.Stdout, pipes.Stdin, s.client.Limit())
	serverEnded, stderrEnded := make(chan struct{}), make(chan struct{})
	s.client.Tasks.Go(func() {
		defer close(serverEnded)
		if err := s.client.Proxy.RunServer(server); errors.Is(err, mcpproxy.ErrClientGone) {
			s.client.Gone.Set()
			s.client.Tasks.Go(func() { io.Copy(io.Discard, pipes.Stdout) })
		}
	})
	s.client.Tasks.Go(func() {
		defer close(stderrEnded)
		s.server.PumpStderr(pipes.Stderr, func() bool { return true })
	})
	replayed := make(chan struct{})
	// It is the first process. A later one first gets what the client sent to the one before.
	if s.client.InputEnded == nil {
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

	exit, err := proc.Wait()
	s.client.Log.Debug().Int("code", exit.Code).Str("why", exit.Why).Err(err).Bool("asked", how.byClient || how.signalled).Msg("the server has ended")
	pipes.Stdin.Close()
	idle, total := s.client.Remaining(s.client.Times.DrainIdle), s.client.Remaining(s.client.Times.DrainTotal)
	// A descendant may hold the pipes open: what is in them is read, and no more waited for.
	pipes.Stderr.StartDrain(idle, total)
	pipes.Stdout.StartDrain(idle, total)
	s.client.WaitUnlessStalled(ctx, ends, serverEnded)
	s.client.WaitUnlessStalled(ctx, ends, stderrEnded)
	return how, exit, session.IsClosed(serverEnded) && session.IsClosed(stderrEnded)
}
