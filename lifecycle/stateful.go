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

// RunStateful runs one client session against one process. It returns the status to
// exit with: that of the server, or 1 when it could not be started or was silent, or
// 3 when its jail could not be built. The error is that of the launcher; the
// client, stderr and the record have been told about it already.
func RunStateful(ctx context.Context, s Session) (status int, err error) {
	ends, stop := listen()
	defer stop()
	r := newRun(s)
	defer r.finish()
	switch sig, err := r.start(ctx, ends); {
	case sig != nil:
		return statusOf(sig), nil
	case err != nil:
		d, status := r.startFailure(err)
		r.linger(ctx, ends, d)
		return status, err
	}
	return r.serve(ctx, ends), nil
}

// Refuse answers the requests of a client with a diagnosis, without starting
// anything: for a configuration that has an error. It prints the diagnosis to
// stderr, and needs neither a Profile nor a Launcher.
func Refuse(ctx context.Context, s Session, d diagnostics.Diagnosis) {
	ends, stop := listen()
	defer stop()
	r := newRun(s)
	defer r.finish()
	r.record.Server = d.Server
	r.note(d)
	r.linger(ctx, ends, d)
}

// start starts the process. A signal that comes meanwhile ends the session.
func (r *run) start(ctx context.Context, ends <-chan os.Signal) (sig os.Signal, err error) {
	if r.pipes, err = newPipes(); err != nil {
		return nil, err
	}
	defer r.pipes.closeTheirs()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var proc Process
	go func() {
		defer close(done)
		proc, err = r.Launcher.Start(starting, r.Profile, r.pipes.theirs)
	}()
	select {
	case <-done:
	case sig = <-ends:
	case <-ctx.Done():
		sig = syscall.SIGTERM
	}
	if sig == nil {
		if err == nil {
			r.proc = proc
		}
		return nil, err
	}
	r.hurry()
	cancel()
	<-done
	if err == nil {
		proc.Kill()
		proc.Wait()
	}
	return sig, nil
}

// serve relays until the process has ended, and returns its status.
func (r *run) serve(ctx context.Context, ends <-chan os.Signal) int {
	server := mcpproxy.NewConn(r.pipes.stdout, r.pipes.stdin, r.limit())
	r.link.server.Store(server)
	serverEnded, stderrEnded := make(chan struct{}), make(chan struct{})
	r.tasks.Go(func() {
		defer close(serverEnded)
		if err := r.proxy.RunServer(server); errors.Is(err, mcpproxy.ErrClientGone) {
			r.gone.set()
			r.tasks.Go(func() { io.Copy(io.Discard, r.pipes.stdout) })
		}
	})
	r.tasks.Go(func() {
		defer close(stderrEnded)
		shown := diagnostics.NewForward(r.errs, r.redact)
		io.Copy(io.MultiWriter(r.tail, shown), r.pipes.stderr)
		shown.Flush()
	})
	r.goClient()
	stopWatch := r.watchCalls()
	how := r.attend(ctx, ends, serverEnded)
	stopWatch()

	r.proc.Kill() // whatever the program has left behind
	exit, err := r.proc.Wait()
	r.Log.Debug().Int("code", exit.Code).Err(err).Bool("asked", how.byClient || how.signalled).Msg("the server has ended")
	r.pipes.stdin.Close()
	idle, total := r.remaining(r.times.idle), r.remaining(r.times.drain)
	r.pipes.stderr.finish(idle, total)
	r.pipes.stdout.finish(idle, total)
	r.untilStuck(serverEnded)
	r.untilStuck(stderrEnded)
	return r.conclude(ctx, ends, how, exit)
}

// ending is how the life of a process came to its end.
type ending struct {
	byClient  bool // the client closed its end first
	signalled bool // the client, or ctx, asked for the end
	pushed    bool // the server did not go by itself when the client had gone
	silent    *diagnostics.Diagnosis
}

// attend watches over the process until it has ended (package comment, "A stateful server").
func (r *run) attend(ctx context.Context, ends <-chan os.Signal, serverEnded <-chan struct{}) (how ending) {
	var term, kill, slow, silent <-chan time.Time
	clientEnded, asked, answered, cancelled := r.clientEnded, r.asked.c, r.answered.c, ctx.Done()
	// A server that does not read keeps us from seeing the end of a client that
	// has died: nobody would ever signal.
	look := time.NewTicker(r.times.term)
	defer look.Stop()
	var sent int64
	forward := func(sig os.Signal) {
		r.proc.Signal(sig)
		if !how.signalled {
			how.signalled = true
			r.hurry()
			term, kill = nil, time.After(r.times.signal)
		}
	}
	for {
		select {
		case <-r.proc.Done():
			select { // what came first counts, and select does not know
			case <-ends:
				how.signalled = true
				r.hurry()
			default:
			}
			how.byClient = how.byClient || isClosed(r.clientEnded)
			return how
		case <-clientEnded: // everything the client has sent was written
			clientEnded, how.byClient = nil, true
			r.pipes.stdin.Close()
			if !how.signalled {
				term = time.After(r.times.term)
			}
		case <-serverEnded: // nothing can be relayed any more: the same
			serverEnded = nil
			r.pipes.stdin.Close()
			if term == nil && kill == nil {
				term = time.After(r.times.term)
			}
		case sig := <-ends:
			forward(sig)
		case <-cancelled:
			cancelled = nil
			forward(syscall.SIGTERM)
		case <-term:
			how.pushed = true
			r.proc.Signal(syscall.SIGTERM)
			term, kill = nil, time.After(r.times.kill)
		case <-kill:
			kill = nil
			r.proc.Kill()

		case <-look.C:
			if r.link.stuck(&sent) && clientEnded != nil && kill == nil && hungUp(r.In) {
				how.pushed = true
				r.proc.Signal(syscall.SIGTERM)
				how.byClient, kill = true, time.After(r.times.kill)
			}

		case <-asked:
			asked = nil
			// From here and not from the start: a server may be silent until it is asked.
			slow = time.After(r.times.bootNote)
			if r.Profile.Startup > 0 {
				silent = time.After(r.Profile.Startup)
			}
		case <-answered:
			answered, slow, silent = nil, nil, nil
		case <-slow:
			slow = nil
			limit := ""
			if r.Profile.Startup > 0 {
				limit = fmt.Sprintf(", for at most %v", r.Profile.Startup)
			}
			r.errs.Say(fmt.Sprintf("mcp-jail: waiting for the first answer of server %q%s\n", r.Profile.Server, limit))
		case <-silent:
			silent = nil
			if r.answered.isSet() {
				break
			}
			ev := r.evidence(diagnostics.StageBoot, nil, time.Time{})
			ev.Timeout = r.Profile.Startup
			d := r.report(ev)
			how.silent = &d
			r.link.fail(d)
			r.proc.Kill()
		}
	}
}

// conclude answers what is still open and returns the exit status.
func (r *run) conclude(ctx context.Context, ends <-chan os.Signal, how ending, exit confine.Exit) int {
	ended := diagnostics.Exit{Code: exit.Code, Signal: exit.Signal}
	switch {
	case how.silent != nil:
		r.linger(ctx, ends, *how.silent)
		return statusFailed
	case how.signalled, r.gone.isSet(): // nobody waits for answers
		return exit.Code
	case !r.answered.isSet():
		if how.byClient && r.proxy.Requests.Len() == 0 {
			return exit.Code // a session without a question
		}
		ev := r.evidence(diagnostics.StageBoot, nil, time.Time{})
		ev.Exit = &ended
		r.linger(ctx, ends, r.report(ev))
		return exit.Code
	}

	ev := r.evidence(diagnostics.StageCall, nil, time.Now().Add(-r.times.kill))
	ev.Exit = &ended
	d := diagnostics.Diagnose(ev)
	calls := r.open(everything)
	r.link.fail(d)
	calls = append(calls, r.open(everything)...) // came in between
	if len(calls) == 0 {
		if !how.byClient && exit.Code != 0 {
			r.note(d)
		}
		return exit.Code
	}
	tell := r.report
	if how.byClient && (exit.Code == 0 || how.pushed) {
		// A client that leaves in the middle of a request (2026-07-28,
		// subscriptions/listen, always is) gets its answer, but nothing failed.
		tell = diagnostics.Diagnose
	}
	type request struct{ method, tool string }
	said := map[request]diagnostics.Diagnosis{}
	r.tasks.Go(func() {
		r.answer(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
			key := request{string(c.Method), string(c.Tool)}
			d, ok := said[key]
			if !ok {
				stage := diagnostics.StageCall
				if isDiscovery(key.method) {
					stage = diagnostics.StageList
				}
				ev := r.evidence(stage, c, c.Start)
				ev.Exit = &ended
				d = tell(ev)
				said[key] = d
			}
			return d
		})
	})
	return exit.Code
}

// watchCalls answers calls that take too long. The function it returns ends that.
func (r *run) watchCalls() (stop func()) {
	limit := r.Profile.Call
	if limit <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	r.tasks.Go(func() {
		ticker := time.NewTicker(min(max(limit/20, 5*time.Millisecond), time.Second))
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				r.timedOut(now)
			case <-quit:
				return
			}
		}
	})
	return func() { close(quit) }
}
