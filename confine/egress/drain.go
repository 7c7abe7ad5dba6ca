package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// What the jail's programs have sent when they end is passed on. Without a Gate that is
// the kernel's business, which has no limit.
var (
	drainTimeout = time.Second // for all of it
	// idleTime tells that there is no more: what was sent is in the kernel of this host, and
	// comes as soon as there is room for it.
	idleTime = 50 * time.Millisecond
	// maxDrainBytes is more than can be under way on one connection (tcp_rmem and tcp_wmem
	// in tcp(7)): who sends more is no program of the jail, or has survived it.
	maxDrainBytes int64 = 32 << 20
)

var errNotDrained = errors.New("the jail has ended, and the connection has not")

// drainAll lets the connections come to their ends.
func (g *Gateway) drainAll() {
	g.endJail()
	late := time.AfterFunc(drainTimeout, g.cancel)
	g.serving.Wait()
	late.Stop()
	g.cancel()
}

// dial connects upstream. A connection that nobody has sent anything on ends with the jail.
func (r *relay) dial() (*net.TCPConn, error) {
	ctx, cancel := context.WithCancel(r.g.ctx)
	defer cancel()
	defer context.AfterFunc(r.g.jailCtx, func() {
		if len(r.head) == 0 && !hasBuffered(r.client) {
			cancel()
		}
	})()
	return r.g.dial(ctx, r.d)
}

// stopReading is for when the jail has ended: nobody is there to read what comes back.
func (r *relay) stopReading() { r.upstream.SetReadDeadline(time.Unix(1, 0)) }

// setIdleDeadline is for when the jail has ended, and ends reading from the client for a look
// at whether there is more (lastWords).
func (r *relay) setIdleDeadline() { r.client.SetReadDeadline(time.Now().Add(idleTime)) }

// isShutdown tells whether reading from the client ended because the jail has.
func (r *relay) isShutdown(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && r.g.jailCtx.Err() != nil
}

// drain passes on what is left of what the client sent.
func (r *relay) drain() error {
	left := &io.LimitedReader{R: r.client, N: maxDrainBytes}
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
