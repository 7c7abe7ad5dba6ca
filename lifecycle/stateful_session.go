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
	client *front
	server instance
	link   link

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
	r.client = newFront(s, r.hooks(), r.server.refused)
	r.server.init(r.client, s.Profile)
	r.link.refused = func(d diagnostics.Diagnosis) {
		r.client.refuse(d)
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
	r.client.finish(ctx, ends, func() {
		if r.server.pipes != nil {
			r.server.pipes.closeOurs()
		}
	})
}

// linger answers every request with d until the client has closed its stdin, or
// has been silent for long enough: errors on server/discover are swallowed by
// dual-era clients, so the next request needs the same answer.
func (r *run) linger(ctx context.Context, ends <-chan os.Signal, d diagnostics.Diagnosis) {
	r.link.fail(d)
	if r.client.clientEnded == nil {
		r.client.goClient(func() error { return r.client.proxy.RunClient(&r.link) })
	}
	r.client.tasks.Go(func() { r.client.refuse(d) })
	if info, err := r.client.config.In.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return // somebody at a terminal has read it on stderr
	}
	wait := r.client.config.Linger
	if r.client.asked.isSet() {
		wait = r.client.times.quiet
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-r.client.clientEnded:
			return
		case <-ends:
			r.client.hurry()
			return
		case <-ctx.Done():
			r.client.hurry()
			return
		case <-timer.C:
			return
		case <-r.again:
			timer.Reset(r.client.times.quiet)
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
