package lifecycle

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// relay relays until the process has ended. drained says that all of its output was
// relayed and no goroutine reads it any more.
func (s *statefulSession) relay(ctx context.Context, ends <-chan os.Signal) (how endCause, exit confine.Exit, drained bool) {
	pipes, proc := s.server.pipes, s.server.processes.current
	server := mcpproxy.NewConn(pipes.stdout, pipes.stdin, s.client.limit())
	serverEnded, stderrEnded := make(chan struct{}), make(chan struct{})
	s.client.tasks.Go(func() {
		defer close(serverEnded)
		if err := s.client.proxy.RunServer(server); errors.Is(err, mcpproxy.ErrClientGone) {
			s.client.gone.set()
			s.client.tasks.Go(func() { io.Copy(io.Discard, pipes.stdout) })
		}
	})
	s.client.tasks.Go(func() {
		defer close(stderrEnded)
		s.server.pumpStderr(pipes.stderr, func() bool { return true })
	})
	replayed := make(chan struct{})
	if s.client.inputEnded == nil {
		close(replayed)
		s.upstream.server.Store(server)
		s.client.startReading(func() error { return s.client.proxy.RunClient(&s.upstream) })
	} else {
		s.client.tasks.Go(func() {
			defer close(replayed)
			s.upstream.guard.replay(server, &s.upstream.server)
		})
	}
	stopWatch := s.watchCallTimes()
	how = s.wait(ctx, ends, proc, replayed, serverEnded)
	stopWatch()

	exit, err := proc.Wait()
	s.client.log.Debug().Int("code", exit.Code).Str("why", exit.Why).Err(err).Bool("asked", how.byClient || how.signalled).Msg("the server has ended")
	pipes.stdin.Close()
	idle, total := s.client.remaining(s.client.times.drainIdle), s.client.remaining(s.client.times.drainTotal)
	pipes.stderr.startDrain(idle, total)
	pipes.stdout.startDrain(idle, total)
	s.client.waitUnlessStalled(ctx, ends, serverEnded)
	s.client.waitUnlessStalled(ctx, ends, stderrEnded)
	return how, exit, isClosed(serverEnded) && isClosed(stderrEnded)
}
