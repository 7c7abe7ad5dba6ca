package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// relay relays until the process has ended. drained: all that it has said has been
// relayed, and nobody reads it any more.
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

	proc.Kill() // whatever the program has left behind
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

// endCause is how the life of a process came to its end.
type endCause struct {
	byClient       bool // the client closed its end first
	signalled      bool // the client, or ctx, asked for the end
	killed         bool // the server did not go by itself when the client had gone
	untouched      bool // the server has read nothing of what the client sent
	startupTimeout *diagnostics.Diagnosis
}

// wait watches over the process until it has ended (protocol, "Ending").
func (s *statefulSession) wait(ctx context.Context, ends <-chan os.Signal, proc Process, replayed, serverEnded <-chan struct{}) (how endCause) {
	var term, kill <-chan time.Time
	boot := startupTimer{session: s}
	boot.arm() // for what was sent to the one before
	var clientEnded <-chan struct{}
	answered, cancelled := s.answered.done, ctx.Done()
	quit := make(chan struct{})
	defer close(quit)
	ignored := s.watchDiscover(quit)
	// A server that does not read keeps us from seeing the end of a client that
	// has died: nobody would ever signal.
	stuck := time.NewTicker(s.client.times.term)
	defer stuck.Stop()
	var sent int64
	look := func() { // while there is something to look at
		if !how.byClient && !how.untouched {
			how.untouched = s.upstream.guard.inputUntouched(unreadBytes(s.server.pipes.stdin))
		}
	}
	dead, stopHangup := watchHangup(s.client.config.In, s.client.config.Out)
	defer stopHangup()
	abandoned := func() { // nobody is left who could grant it time
		if how.signalled || how.killed {
			return
		}
		s.client.gone.set()
		how.byClient, how.killed = true, true
		s.server.pipes.stdin.Close()
		proc.Signal(syscall.SIGTERM)
		term, kill = nil, time.After(s.client.times.kill)
	}
	forward := func(sig os.Signal) {
		proc.Signal(sig)
		if !how.signalled {
			how.signalled = true
			s.client.shortenDeadline()
			term, kill = nil, time.After(s.client.times.signal)
		}
	}
	for {
		select {
		case <-proc.Done():
			select { // what came first counts, and select does not know
			case <-ends:
				how.signalled = true
				s.client.shortenDeadline()
			default:
			}
			how.signalled = s.client.readLastRequest(ends) || how.signalled
			how.byClient = how.byClient || isClosed(s.client.inputEnded)
			look()
			return how
		case <-replayed:
			replayed, clientEnded = nil, s.client.inputEnded
		case <-clientEnded: // everything the client has sent was written
			clientEnded, how.byClient = nil, true
			s.server.pipes.stdin.Close()
			if !how.signalled && !how.killed {
				term = time.After(s.client.times.term)
			}
			if s.client.gone.isSet() {
				abandoned()
			}
		case <-serverEnded: // nothing can be relayed any more: the same
			serverEnded = nil
			look()
			s.server.pipes.stdin.Close()
			if term == nil && kill == nil {
				term = time.After(s.client.times.term)
			}
			if how.byClient && s.client.gone.isSet() {
				abandoned()
			}
		case <-dead:
			dead = nil
			abandoned()
		case sig := <-ends:
			forward(sig)
		case <-cancelled:
			cancelled = nil
			forward(syscall.SIGTERM)
		case <-term:
			how.killed = true
			proc.Signal(syscall.SIGTERM)
			term, kill = nil, time.After(s.client.times.kill)
		case <-kill:
			kill = nil
			proc.Kill()

		case <-stuck.C:
			if s.upstream.sendStalled(&sent) && clientEnded != nil && kill == nil && peerClosed(s.client.config.In) {
				how.killed = true
				proc.Signal(syscall.SIGTERM)
				how.byClient, kill = true, time.After(s.client.times.kill)
			}

		case <-ignored:
			ignored = nil
			s.answerDiscover(fmt.Sprintf("has ignored server/discover for %v", s.client.times.discover), false)
			s.upstream.guard.disabled.Store(true)
			boot.restart()
		case <-s.requestSent:
			boot.arm()
		case <-s.discoverDeclined:
			boot.restart()
		case <-answered:
			answered = nil
			boot.disarm()
		case <-boot.slow:
			boot.sayWaiting()
		case <-boot.silent:
			boot.disarm()
			if s.answered.isSet() || s.openRequests() == 0 {
				break
			}
			ev := s.server.evidence(diagnostics.StageBoot, nil, time.Time{})
			ev.Timeout = s.server.profile.Startup
			d := s.server.diagnose(ev)
			how.startupTimeout = &d
			s.upstream.fail(d)
			proc.Kill()
		}
	}
}
