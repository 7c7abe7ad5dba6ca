package egress

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// drainLimits bound the draining of connections after the jail has ended. Programs expect that
// the kernel delivers what they sent before they exit, so the Gateway forwards it.
type drainLimits struct {
	timeout time.Duration // for all connections together
	// A client that sends no byte for idle has nothing more: every byte that it sent is already
	// in this host's kernel and arrives as soon as there is room.
	idle time.Duration
	// bytes is more than one connection can hold in flight (tcp_rmem and tcp_wmem in tcp(7)).
	// A client that sends more is still alive.
	bytes int64
}

var defaultDrainLimits = drainLimits{timeout: time.Second, idle: 50 * time.Millisecond, bytes: 32 << 20}

var errNotDrained = errors.New("the jail has ended and its connection still sends")

// dial connects upstream. When the jail ends, it gives up if the client has sent nothing.
func (r *relay) dial() (Conn, error) {
	ctx, cancel := context.WithCancel(r.g.life.ctx)
	defer cancel()
	defer context.AfterFunc(r.g.life.jailCtx, func() {
		if len(r.head) == 0 && !hasBuffered(r.client) {
			cancel()
		}
	})()
	return r.g.dialer.dial(ctx, r.d)
}

// stopReading ends reading from upstream. Once the jail has ended, no program reads the bytes.
func (r *relay) stopReading() { r.upstream.SetReadDeadline(time.Unix(1, 0)) }

// setIdleDeadline lets reads from the client wait no longer than drainLimits.idle. relayRest then
// calls drain.
func (r *relay) setIdleDeadline() { r.client.SetReadDeadline(time.Now().Add(r.g.life.limits.idle)) }

func (r *relay) isShutdown(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && r.g.life.jailCtx.Err() != nil
}

// drain forwards the bytes that the client has sent, until none arrives for drainLimits.idle or
// drainLimits.bytes are forwarded.
func (r *relay) drain() error {
	left := &io.LimitedReader{R: r.client, N: r.g.life.limits.bytes}
	for {
		before := left.N
		r.setIdleDeadline()
		err := r.copyUp(left)
		switch {
		case left.N == 0, r.isShutdown(err) && left.N == before:
			return errNotDrained
		case !r.isShutdown(err):
			return err
		}
	}
}
