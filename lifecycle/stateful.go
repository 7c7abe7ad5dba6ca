package lifecycle

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// RunStateful runs one client session against one process. It returns how to end: as
// the server has, by a signal that came before there was one, or with the status 1 when
// it could not be started or was silent, or 3 when its jail could not be built. The error is that of the launcher; the
// client, stderr and the record have been told about it already.
func RunStateful(ctx context.Context, s Session) (exit confine.Exit, err error) {
	ends, stop := listen()
	defer stop()
	r := newRun(s)
	defer r.finish(ctx, ends)
	if exit, ok, err := r.begin(ctx, ends); !ok {
		return exit, err
	}
	return r.serve(ctx, ends)
}

// Refuse answers the requests of a client with a diagnosis, without starting
// anything: for a configuration that has an error. It prints the diagnosis to
// stderr, and needs neither a Profile nor a Launcher.
func Refuse(ctx context.Context, s Session, d diagnostics.Diagnosis) {
	ends, stop := listen()
	defer stop()
	r := newRun(s)
	defer r.finish(ctx, ends)
	r.client.record.Server = d.Server
	r.client.note(d)
	r.linger(ctx, ends, d)
}

// begin starts a process. When there is none, the session is over and everything
// was said.
func (r *run) begin(ctx context.Context, ends <-chan os.Signal) (exit confine.Exit, ok bool, err error) {
	sig, err := r.start(ctx, ends)
	switch {
	case sig != nil:
		return endedBy(sig), false, nil
	case err != nil:
		d, status := r.server.startFailure(err)
		r.linger(ctx, ends, d)
		return confine.Exit{Code: status}, false, err
	}
	return confine.Exit{}, true, nil
}

// start starts the process. A signal that comes meanwhile ends the session.
func (r *run) start(ctx context.Context, ends <-chan os.Signal) (sig os.Signal, err error) {
	if r.server.pipes, err = newPipes(); err != nil {
		return nil, err
	}
	defer r.server.pipes.closeTheirs()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var proc Process
	go func() {
		defer close(done)
		proc, err = r.server.build(starting)
	}()
	select {
	case <-done:
	case sig = <-ends:
	case <-ctx.Done():
		sig = syscall.SIGTERM
	}
	if sig == nil {
		if err == nil {
			r.server.started(proc)
			r.server.accepted(proc.Plan())
		}
		return nil, err
	}
	r.client.hurry()
	cancel()
	<-done
	if err == nil {
		proc.Kill()
		proc.Wait()
	}
	return sig, nil
}

// serve relays until the process has ended, and returns how it did. One that ends
// on an opening probe is followed by another.
func (r *run) serve(ctx context.Context, ends <-chan os.Signal) (confine.Exit, error) {
	for revived := false; ; revived = true {
		how, exit, drained := r.live(ctx, ends)
		if revived || !drained || !r.shielded(how) {
			return r.conclude(ctx, ends, how, exit), nil
		}
		r.answerProbe("ended on server/discover ("+exitWords(exit)+")", true)
		if !r.awaitMore(ctx, ends) {
			return exit, nil
		}
		r.server.pipes.closeOurs()
		if exit, ok, err := r.begin(ctx, ends); !ok {
			return exit, err
		}
	}
}

// conclude answers what is still open and returns how to end.
func (r *run) conclude(ctx context.Context, ends <-chan os.Signal, how ending, exit confine.Exit) confine.Exit {
	ended := diagnostics.Exit(exit)
	switch {
	case how.silent != nil:
		r.linger(ctx, ends, *how.silent)
		return confine.Exit{Code: statusFailed}
	case how.signalled, r.client.gone.isSet(): // nobody waits for answers
		return exit
	case !r.answered.isSet():
		if how.byClient && r.client.proxy.Requests.Len() == 0 {
			return exit // a session without a question
		}
		if how.byClient && !how.untouched && r.onProbe() {
			// A throw-away server that got only the probe: nobody waits for a reason.
			r.answerProbe("did not answer server/discover", true)
			return exit
		}
		ev := r.server.evidence(diagnostics.StageBoot, nil, time.Time{})
		ev.Exit = &ended
		r.linger(ctx, ends, r.server.report(ev))
		return exit
	}

	ev := r.server.evidence(diagnostics.StageCall, nil, time.Now().Add(-r.client.times.kill))
	ev.Exit = &ended
	d := diagnostics.Diagnose(ev)
	calls := r.client.open(everything)
	r.link.fail(d)
	calls = append(calls, r.client.open(everything)...) // came in between
	if len(calls) == 0 {
		if !how.byClient && exit.Code != 0 {
			r.client.note(d)
		}
		return exit
	}
	tell := r.server.report
	if how.byClient && (exit.Code == 0 || how.pushed) {
		// A client that leaves in the middle of a request (2026-07-28,
		// subscriptions/listen, always is) gets its answer, but nothing failed.
		tell = diagnostics.Diagnose
	}
	type request struct{ method, tool string }
	said := map[request]diagnostics.Diagnosis{}
	r.client.tasks.Go(func() {
		r.client.answer(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
			key := request{string(c.Method), string(c.Tool)}
			d, ok := said[key]
			if !ok {
				stage := diagnostics.StageCall
				if isDiscovery(key.method) {
					stage = diagnostics.StageList
				}
				ev := r.server.evidence(stage, c, c.Start)
				ev.Exit = &ended
				d = tell(ev)
				said[key] = d
			}
			return d
		})
	})
	return exit
}
