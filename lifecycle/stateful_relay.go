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

// live relays until the process has ended. drained: all that it has said has been
// relayed, and nobody reads it any more.
func (r *run) live(ctx context.Context, ends <-chan os.Signal) (how ending, exit confine.Exit, drained bool) {
	pipes, proc := r.server.pipes, r.server.procs.now
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
	if r.client.clientEnded == nil {
		close(replayed)
		r.link.server.Store(server)
		r.client.goClient(func() error { return r.client.proxy.RunClient(&r.link) })
	} else {
		r.client.tasks.Go(func() {
			defer close(replayed)
			r.link.shield.replay(server, &r.link.server)
		})
	}
	stopWatch := r.watchCalls()
	how = r.attend(ctx, ends, proc, replayed, serverEnded)
	stopWatch()

	proc.Kill() // whatever the program has left behind
	exit, err := proc.Wait()
	r.client.log.Debug().Int("code", exit.Code).Str("why", exit.Why).Err(err).Bool("asked", how.byClient || how.signalled).Msg("the server has ended")
	pipes.stdin.Close()
	idle, total := r.client.remaining(r.client.times.idle), r.client.remaining(r.client.times.drain)
	pipes.stderr.finish(idle, total)
	pipes.stdout.finish(idle, total)
	r.client.untilStuck(ctx, ends, serverEnded)
	r.client.untilStuck(ctx, ends, stderrEnded)
	return how, exit, isClosed(serverEnded) && isClosed(stderrEnded)
}

// ending is how the life of a process came to its end.
type ending struct {
	byClient  bool // the client closed its end first
	signalled bool // the client, or ctx, asked for the end
	pushed    bool // the server did not go by itself when the client had gone
	untouched bool // the server has read nothing of what the client sent
	silent    *diagnostics.Diagnosis
}

// attend watches over the process until it has ended (protocol, "Ending").
func (r *run) attend(ctx context.Context, ends <-chan os.Signal, proc Process, replayed, serverEnded <-chan struct{}) (how ending) {
	var term, kill <-chan time.Time
	boot := bootWatch{r: r}
	boot.arm() // for what was sent to the one before
	var clientEnded <-chan struct{}
	answered, cancelled := r.answered.c, ctx.Done()
	quit := make(chan struct{})
	defer close(quit)
	ignored := r.watchProbe(quit)
	// A server that does not read keeps us from seeing the end of a client that
	// has died: nobody would ever signal.
	stuck := time.NewTicker(r.client.times.term)
	defer stuck.Stop()
	var sent int64
	look := func() { // while there is something to look at
		if !how.byClient && !how.untouched {
			how.untouched = r.link.shield.untouched(unread(r.server.pipes.stdin))
		}
	}
	dead, stopHangup := watchHangup(r.client.config.In, r.client.config.Out)
	defer stopHangup()
	abandoned := func() { // nobody is left who could grant it time
		if how.signalled || how.pushed {
			return
		}
		r.client.gone.set()
		how.byClient, how.pushed = true, true
		r.server.pipes.stdin.Close()
		proc.Signal(syscall.SIGTERM)
		term, kill = nil, time.After(r.client.times.kill)
	}
	forward := func(sig os.Signal) {
		proc.Signal(sig)
		if !how.signalled {
			how.signalled = true
			r.client.hurry()
			term, kill = nil, time.After(r.client.times.signal)
		}
	}
	for {
		select {
		case <-proc.Done():
			select { // what came first counts, and select does not know
			case <-ends:
				how.signalled = true
				r.client.hurry()
			default:
			}
			how.signalled = r.client.hearOut(ends) || how.signalled
			how.byClient = how.byClient || isClosed(r.client.clientEnded)
			look()
			return how
		case <-replayed:
			replayed, clientEnded = nil, r.client.clientEnded
		case <-clientEnded: // everything the client has sent was written
			clientEnded, how.byClient = nil, true
			r.server.pipes.stdin.Close()
			if !how.signalled && !how.pushed {
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
			how.pushed = true
			proc.Signal(syscall.SIGTERM)
			term, kill = nil, time.After(r.client.times.kill)
		case <-kill:
			kill = nil
			proc.Kill()

		case <-stuck.C:
			if r.link.stuck(&sent) && clientEnded != nil && kill == nil && hungUp(r.client.config.In) {
				how.pushed = true
				proc.Signal(syscall.SIGTERM)
				how.byClient, kill = true, time.After(r.client.times.kill)
			}

		case <-ignored:
			ignored = nil
			r.answerProbe(fmt.Sprintf("has ignored server/discover for %v", r.client.times.probe), false)
			r.link.shield.over.Store(true)
			boot.declined()
		case <-r.asks:
			boot.arm()
		case <-r.declined:
			boot.declined()
		case <-answered:
			answered = nil
			boot.disarm()
		case <-boot.slow:
			boot.note()
		case <-boot.silent:
			boot.disarm()
			if r.answered.isSet() || r.waiting() == 0 {
				break
			}
			ev := r.server.evidence(diagnostics.StageBoot, nil, time.Time{})
			ev.Timeout = r.server.Profile.Startup
			d := r.server.report(ev)
			how.silent = &d
			r.link.fail(d)
			proc.Kill()
		}
	}
}
