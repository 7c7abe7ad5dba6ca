package lifecycle

import (
	"context"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// RunStateful runs one client session against one process. It returns how to end: as
// the server has, by a signal that came before there was one, or with the status 1 when
// it could not be started or was silent, or 3 when its jail could not be built. The error is that of the launcher; the
// client, stderr and the record have been told about it already.
func RunStateful(ctx context.Context, s Session) (exit confine.Exit, err error) {
	ends, stop := listenForSignals()
	defer stop()
	r := newStatefulSession(s)
	defer r.finish(ctx, ends)
	if exit, ok, err := r.startOrLinger(ctx, ends); !ok {
		return exit, err
	}
	return r.serve(ctx, ends)
}

// Refuse answers the requests of a client with a diagnosis, without starting
// anything: for a configuration that has an error. It prints the diagnosis to
// stderr, and needs neither a Profile nor a Launcher.
func Refuse(ctx context.Context, s Session, d diagnostics.Diagnosis) {
	ends, stop := listenForSignals()
	defer stop()
	r := newStatefulSession(s)
	defer r.finish(ctx, ends)
	r.client.record.Server = d.Server
	r.client.announce(d)
	r.answerUntilClosed(ctx, ends, d)
}

// startOrLinger starts a process. When there is none, the session is over and everything
// was said.
func (s *statefulSession) startOrLinger(ctx context.Context, ends <-chan os.Signal) (exit confine.Exit, ok bool, err error) {
	sig, err := s.start(ctx, ends)
	switch {
	case sig != nil:
		return endedBy(sig), false, nil
	case err != nil:
		d, status := s.server.startFailure(err)
		s.answerUntilClosed(ctx, ends, d)
		return confine.Exit{Code: status}, false, err
	}
	return confine.Exit{}, true, nil
}

// start starts the process. A signal that comes meanwhile ends the session.
func (s *statefulSession) start(ctx context.Context, ends <-chan os.Signal) (sig os.Signal, err error) {
	if s.server.pipes, err = newPipes(); err != nil {
		return nil, err
	}
	defer s.server.pipes.closeServerEnds()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var proc Process
	go func() {
		defer close(done)
		proc, err = s.server.launch(starting)
	}()
	select {
	case <-done:
	case sig = <-ends:
	case <-ctx.Done():
		sig = syscall.SIGTERM
	}
	if sig == nil {
		if err == nil {
			s.server.adopt(proc)
			s.server.warnWaived(proc.Plan())
		}
		return nil, err
	}
	s.client.shortenDeadline()
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
func (s *statefulSession) serve(ctx context.Context, ends <-chan os.Signal) (confine.Exit, error) {
	for revived := false; ; revived = true {
		how, exit, drained := s.relay(ctx, ends)
		if revived || !drained || !s.shouldRestart(how) {
			return s.finishRequests(ctx, ends, how, exit), nil
		}
		s.answerDiscover("ended on server/discover ("+exitText(exit)+")", true)
		if !s.waitForMore(ctx, ends) {
			return exit, nil
		}
		s.server.pipes.closeOwnEnds()
		if exit, ok, err := s.startOrLinger(ctx, ends); !ok {
			return exit, err
		}
	}
}
