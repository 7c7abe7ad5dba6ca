package lifecycle

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Exit statuses for a server that has none of its own (docs/reference.md "Exit statuses").
const (
	statusFailed = 1 // the server failed
	statusJail   = 3 // no jail here that holds the policy
)

// run is the session of a stateful server under way.
type run struct {
	instance
	link link

	asks     chan struct{} // the client has sent a request before the first answer
	declined chan struct{} // the server has answered server/discover with an error
	answered flag          // the server has given its first answer
	again    chan struct{} // a request was refused

	heardStart bool // see complaint; of the goroutine that reads the server
}

func newRun(s Session) *run {
	r := &run{again: make(chan struct{}, 1), asks: make(chan struct{}, 1), declined: make(chan struct{}, 1)}
	r.answered.c = make(chan struct{})
	r.link.shield.init()
	if s.Profile == nil {
		s.Profile = &policy.Profile{}
	}
	r.init(newFront(s, r.hooks(), r.refused), s.Profile)
	r.link.refused = func(d diagnostics.Diagnosis) {
		r.refuse(d)
		select {
		case r.again <- struct{}{}:
		default:
		}
	}
	return r
}

// finish ends the session: see front.finish.
func (r *run) finish(ctx context.Context, ends <-chan os.Signal) {
	r.link.shield.up.set()
	r.front.finish(ctx, ends, func() {
		if r.pipes != nil {
			r.pipes.closeOurs()
		}
	})
}

// linger answers every request with d until the client has closed its stdin, or
// has been silent for long enough: errors on server/discover are swallowed by
// dual-era clients, so the next request needs the same answer.
func (r *run) linger(ctx context.Context, ends <-chan os.Signal, d diagnostics.Diagnosis) {
	r.link.fail(d)
	if r.clientEnded == nil {
		r.goClient(func() error { return r.proxy.RunClient(&r.link) })
	}
	r.tasks.Go(func() { r.refuse(d) })
	if info, err := r.In.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return // somebody at a terminal has read it on stderr
	}
	wait := r.Linger
	if r.asked.isSet() {
		wait = r.times.quiet
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-r.clientEnded:
			return
		case <-ends:
			r.hurry()
			return
		case <-ctx.Done():
			r.hurry()
			return
		case <-timer.C:
			return
		case <-r.again:
			timer.Reset(r.times.quiet)
		}
	}
}

// endedBy is the end of a session that a signal has ended. The status is what a shell
// makes of one.
func endedBy(s os.Signal) confine.Exit {
	if n, ok := s.(syscall.Signal); ok {
		return confine.Exit{Code: 128 + int(n), Signal: n}
	}
	return confine.Exit{Code: statusFailed}
}
