package lifecycle

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// finishRequests answers the open requests after the server's end, and returns how the
// program should end.
func (s *statefulSession) finishRequests(ctx context.Context, ends <-chan os.Signal, how endCause, exit confine.Exit) confine.Exit {
	ended := diagnostics.Exit(exit)
	switch {
	case how.startupTimeout != nil:
		s.answerUntilClosed(ctx, ends, *how.startupTimeout)
		return confine.Exit{Code: statusFailed}
	case how.signalled, s.client.gone.isSet(): // no client waits for answers
		return exit
	case !s.answered.isSet():
		if how.byClient && s.client.proxy.Requests.Len() == 0 {
			return exit // the client has asked nothing
		}
		if how.byClient && !how.untouched && s.onlyDiscoverOpen() {
			// The client has probed the server and thrown it away. It needs no reason.
			s.answerDiscover("did not answer server/discover", true)
			return exit
		}
		ev := s.server.evidence(diagnostics.StageBoot, nil, time.Time{})
		ev.Exit = &ended
		s.answerUntilClosed(ctx, ends, s.server.diagnose(ev))
		return exit
	}

	ev := s.server.evidence(diagnostics.StageCall, nil, time.Now().Add(-s.client.times.kill))
	ev.Exit = &ended
	d := diagnostics.Diagnose(ev)
	calls := s.client.claimRequests(anyCall)
	s.upstream.fail(d)
	calls = append(calls, s.client.claimRequests(anyCall)...) // that came in between
	if len(calls) == 0 {
		if !how.byClient && exit.Code != 0 {
			s.client.announce(d)
		}
		return exit
	}
	tell := s.server.diagnose
	if how.byClient && (exit.Code == 0 || how.killed) {
		// The client has left during a request, as it always does during a
		// subscriptions/listen (2026-07-28). It gets an answer, but nothing failed.
		tell = diagnostics.Diagnose
	}
	type request struct{ method, tool string }
	said := map[request]diagnostics.Diagnosis{}
	s.client.tasks.Go(func() {
		s.client.answerCalls(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
			key := request{string(c.Method), string(c.Tool)}
			d, ok := said[key]
			if !ok {
				stage := diagnostics.StageCall
				if isDiscoveryMethod(key.method) {
					stage = diagnostics.StageList
				}
				ev := s.server.evidence(stage, c, c.Start)
				ev.Exit = &ended
				d = tell(ev)
				said[key] = d
			}
			return d
		})
	})
	return exit
}

// endCause is how the life of a process came to its end.
type endCause struct {
	byClient       bool                   // the client closed its end first
	signalled      bool                   // a signal, or ctx, ended the session
	killed         bool                   // the client had left, and the server ended only by a signal of ours
	untouched      bool                   // the server has read nothing of what the client sent
	startupTimeout *diagnostics.Diagnosis // the server gave no first answer in time; else nil
}

// wait waits until the process has ended, and ends it when the session is over (package
// comment, "A stateful server").
func (s *statefulSession) wait(ctx context.Context, ends <-chan os.Signal, proc Process, replayed, serverEnded <-chan struct{}) (how endCause) {
	var term, kill <-chan time.Time
	boot := startupTimer{session: s}
	boot.arm() // for requests that were sent to the server before this one
	var clientEnded <-chan struct{}
	answered, cancelled := s.answered.done, ctx.Done()
	quit := make(chan struct{})
	defer close(quit)
	ignored := s.watchDiscover(quit)
	// While the server does not read, our reader does not come to the end of the
	// client's stdin. So look whether a client that has died is the reason.
	stuck := time.NewTicker(s.client.times.term)
	defer stuck.Stop()
	var sent int64
	look := func() { // before the pipe is closed
		if !how.byClient && !how.untouched {
			how.untouched = s.upstream.guard.inputUntouched(unreadBytes(s.server.pipes.stdin))
		}
	}
	dead, stopHangup := watchHangup(s.client.config.In, s.client.config.Out)
	defer stopHangup()
	abandoned := func() { // the client has died and grants no time
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
			select { // a signal that came first counts; select chooses at random
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
		case <-clientEnded: // everything that the client sent was written
			clientEnded, how.byClient = nil, true
			s.server.pipes.stdin.Close()
			if !how.signalled && !how.killed {
				term = time.After(s.client.times.term)
			}
			if s.client.gone.isSet() {
				abandoned()
			}
		case <-serverEnded: // nothing more can be relayed: as if the client had closed
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
