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
	partingTime = time.Second // for all of it
	// quiet tells that there is no more: what was sent is in the kernel of this host, and
	// comes as soon as there is room for it.
	quiet = 50 * time.Millisecond
	// mostParting is more than can be under way on one connection (tcp_rmem and tcp_wmem
	// in tcp(7)): who sends more is no program of the jail, or has survived it.
	mostParting int64 = 32 << 20
)

var errParted = errors.New("the jail has ended, and the connection has not")

// part lets the connections come to their ends.
func (g *Gate) part() {
	g.parting()
	late := time.AfterFunc(partingTime, g.cancel)
	g.served.Wait()
	late.Stop()
	g.cancel()
}

// dial connects upstream. A connection that nobody has sent anything on ends with the jail.
func (r *relay) dial() (*net.TCPConn, error) {
	ctx, cancel := context.WithCancel(r.g.ctx)
	defer cancel()
	defer context.AfterFunc(r.g.jail, func() {
		if len(r.head) == 0 && !holds(r.client) {
			cancel()
		}
	})()
	return r.g.dial(ctx, r.d)
}

// hearNoMore is for when the jail has ended: nobody is there to read what comes back.
func (r *relay) hearNoMore() { r.upstream.SetReadDeadline(time.Unix(1, 0)) }

// awaitQuiet is for when the jail has ended, and ends reading from the client for a look
// at whether there is more (lastWords).
func (r *relay) awaitQuiet() { r.client.SetReadDeadline(time.Now().Add(quiet)) }

// isCut tells whether reading from the client ended because the jail has.
func (r *relay) isCut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && r.g.jail.Err() != nil
}

// lastWords passes on what is left of what the client sent.
func (r *relay) lastWords() error {
	left := &io.LimitedReader{R: r.client, N: mostParting}
	for {
		before := left.N
		r.awaitQuiet()
		err := r.pass(left)
		switch {
		case left.N == 0, r.isCut(err) && left.N == before:
			return errParted
		case !r.isCut(err):
			return err
		}
	}
}
