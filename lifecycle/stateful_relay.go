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
func (r *statefulSession) relay(ctx context.Context, ends <-chan os.Signal) (how endCause, exit confine.Exit, drained bool) {
	pipes, proc := r.server.pipes, r.server.processes.current
	server := mcpproxy.NewConn(pipes.stdout, pipes.stdin, r.client.limit())
	serverEnded, stderrEnded := make(chan struct{}), make(chan struct{})
	r.client.tasks.Go(func() {
		defer close(serverEnded)
		if err := r.client.proxy.RunServer(server); errors.Is(err, mcpproxy.ErrClientGone) {
			r.client.gone.set()
			r.client.tasks.Go(func() { io.Copy(io.Discard, pipes.stdout) })
		}
	})
	r.client.tasks.Go(func() {
		defer close(stderrEnded)
		r.server.pumpStderr(pipes.stderr, func() bool { return true })
	})
	replayed := make(chan struct{})
	if r.client.inputEnded == nil {
		close(replayed)
		r.upstream.server.Store(server)
		r.client.startReading(func() error { return r.client.proxy.RunClient(&r.upstream) })
	} else {
		r.client.tasks.Go(func() {
			defer close(replayed)
			r.upstream.guard.replay(server, &r.upstream.server)
		})
	}
	stopWatch := r.watchCallTimes()
	how = r.wait(ctx, ends, proc, replayed, serverEnded)
	stopWatch()

	proc.Kill() // whatever the program has left behind
	exit, err := proc.Wait()
	r.client.log.Debug().Int("code", exit.Code).Str("why", exit.Why).Err(err).Bool("asked", how.byClient || how.signalled).Msg("the server has ended")
	pipes.stdin.Close()
	idle, total := r.client.remaining(r.client.times.drainIdle), r.client.remaining(r.client.times.drainTotal)
	pipes.stderr.startDrain(idle, total)
	pipes.stdout.startDrain(idle, total)
	r.client.waitUnlessStalled(ctx, ends, serverEnded)
	r.client.waitUnlessStalled(ctx, ends, stderrEnded)
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
func (r *statefulSession) wait(ctx context.Context, ends <-chan os.Signal, proc Process, replayed, serverEnded <-chan struct{}) (how endCause) {
	var term, kill <-chan time.Time
	boot := startupTimer{session: r}
	boot.arm() // for what was sent to the one before
	var clientEnded <-chan struct{}
	answered, cancelled := r.answered.done, ctx.Done()
	quit := make(chan struct{})
	defer close(quit)
	ignored := r.watchDiscover(quit)
	// A server that does not read keeps us from seeing the end of a client that
	// has died: nobody would ever signal.
	stuck := time.NewTicker(r.client.times.term)
	defer stuck.Stop()
	var sent int64
	look := func() { // while there is something to look at
		if !how.byClient && !how.untouched {
			how.untouched = r.upstream.guard.inputUntouched(unreadBytes(r.server.pipes.stdin))
		}
	}
	dead, stopHangup := watchHangup(r.client.config.In, r.client.config.Out)
	defer stopHangup()
	abandoned := func() { // nobody is left who could grant it time
		if how.signalled || how.killed {
			return
		}
		r.client.gone.set()
		how.byClient, how.killed = true, true
		r.server.pipes.stdin.Close()
		proc.Signal(syscall.SIGTERM)
		term, kill = nil, time.After(r.client.times.kill)
	}
	forward := func(sig os.Signal) {
		proc.Signal(sig)
		if !how.signalled {
			how.signalled = true
			r.client.shortenDeadline()
			term, kill = nil, time.After(r.client.times.signal)
		}
	}
	for {
		select {
		case <-proc.Done():
			select { // what came first counts, and select does not know
			case <-ends:
				how.signalled = true
				r.client.shortenDeadline()
			default:
			}
			how.signalled = r.client.readLastRequest(ends) || how.signalled
			how.byClient = how.byClient || isClosed(r.client.inputEnded)
			look()
			return how
		case <-replayed:
			replayed, clientEnded = nil, r.client.inputEnded
		case <-clientEnded: // everything the client has sent was written
			clientEnded, how.byClient = nil, true
			r.server.pipes.stdin.Close()
			if !how.signalled && !how.killed {
				term = time.After(r.client.times.term)
			}
			if r.client.gone.isSet() {
				abandoned()
			}
		case <-serverEnded: // nothing can be relayed any more: the same
			serverEnded = nil
			look()
			r.server.pipes.stdin.Close()
			if term == nil && kill == nil {
				term = time.After(r.client.times.term)
			}
			if how.byClient && r.client.gone.isSet() {
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
			term, kill = nil, time.After(r.client.times.kill)
		case <-kill:
			kill = nil
			proc.Kill()

		case <-stuck.C:
			if r.upstream.sendStalled(&sent) && clientEnded != nil && kill == nil && peerClosed(r.client.config.In) {
				how.killed = true
				proc.Signal(syscall.SIGTERM)
				how.byClient, kill = true, time.After(r.client.times.kill)
			}

		case <-ignored:
			ignored = nil
			r.answerDiscover(fmt.Sprintf("has ignored server/discover for %v", r.client.times.discover), false)
			r.upstream.guard.disabled.Store(true)
			boot.restart()
		case <-r.requestSent:
			boot.arm()
		case <-r.discoverDeclined:
			boot.restart()
		case <-answered:
			answered = nil
			boot.disarm()
		case <-boot.slow:
			boot.sayWaiting()
		case <-boot.silent:
			boot.disarm()
			if r.answered.isSet() || r.openRequests() == 0 {
				break
			}
			ev := r.server.evidence(diagnostics.StageBoot, nil, time.Time{})
			ev.Timeout = r.server.profile.Startup
			d := r.server.diagnose(ev)
			how.startupTimeout = &d
			r.upstream.fail(d)
			proc.Kill()
		}
	}
}
