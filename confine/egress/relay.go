package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	sniffBuffer       = 4 << 10
	headTimeout       = time.Minute            // after the first byte
	lastAnswerTimeout = 100 * time.Millisecond // for an answer that upstream sent before it failed
)

func (g *Gateway) serveConn(c *net.TCPConn, to netip.AddrPort) {
	defer c.Close()
	stop := context.AfterFunc(g.life.ctx, func() { reset(c) })
	defer stop()
	d := g.decide(to)
	if !d.granted() {
		g.denials.deny(&d, d.why, d.detail)
		reset(c)
		return
	}
	r := relay{g: g, d: &d, client: c, responded: make(chan struct{})}
	r.serve()
}

func (r *relay) serve() {
	var err error
	// The Interceptor gets only a connection that speaks a protocol which it reads.
	if r.d.needsInterception() {
		r.answer(nil)
		switch err = r.readHead(); {
		case err == io.EOF:
			return
		case err == nil && r.d.verdict[r.protocol] == verdictIntercept:
			err = r.intercept()
			if err == nil {
				return
			}
		}
	}
	if err == nil {
		r.upstream, err = r.dial()
	}
	if err != nil {
		r.g.denials.denyIfRefused(r.d, err)
		if !r.answer(err) {
			reset(r.client)
		}
		return
	}
	r.answer(nil)
	r.run()
}

// answer tells a client of the proxy once whether its host is connected. It returns false if the
// client is told nothing.
func (r *relay) answer(err error) bool {
	tell := r.tell
	if r.tell = nil; tell == nil {
		return false
	}
	tell(err)
	return true
}

func reset(c Conn) {
	c.SetLinger(0)
	c.Close()
}

// relay is one connection.
type relay struct {
	g        *Gateway
	d        *destination
	client   *net.TCPConn
	upstream Conn
	protocol protocol
	head     []byte      // read from the client and not yet sent upstream
	hello    int         // length of the ClientHello in head; 0 if its name does not matter
	single   bool        // head begins with a request that the proxy was asked for: the only one
	tell     func(error) // answers a client of the proxy; nil if there is none, or it was answered

	first     answer        // how upstream's response begins
	responded chan struct{} // closed when first is set
}

// run forwards the bytes that each side sends, and the way in which the side ends: half-closed,
// closed or reset.
func (r *relay) run() {
	stop := context.AfterFunc(r.g.life.ctx, r.abort)
	defer stop()
	defer context.AfterFunc(r.g.life.jailCtx, r.stopReading)()
	down := make(chan error, 1)
	go func() {
		err := r.relayDown()
		switch {
		case err == nil:
			r.client.CloseWrite()
		case r.g.life.jailCtx.Err() != nil:
			err = nil // the jail has ended
		default:
			r.abort()
		}
		down <- err
	}()
	err := r.relayUp()
	switch {
	case err == nil:
		r.upstream.CloseWrite()
	case r.g.denials.denyIfRefused(r.d, err):
		r.abort()
	case r.client.CloseRead() != nil: // ENOTCONN: the client has failed
		r.abort()
	default: // upstream has failed, perhaps after a response
		r.upstream.SetReadDeadline(time.Now().Add(lastAnswerTimeout))
	}
	if downErr := <-down; err != nil || downErr != nil {
		r.abort()
		return
	}
	r.upstream.Close()
	r.client.Close()
}

func (r *relay) abort() {
	reset(r.client)
	reset(r.upstream)
}

func (r *relay) relayDown() error {
	if !r.d.opaque {
		b, head := make([]byte, sniffBuffer), []byte(nil)
		for r.first == answerUnknown {
			m, err := r.upstream.Read(b)
			if _, werr := r.client.Write(b[:m]); werr != nil {
				err = werr
			}
			head = append(head, b[:m]...)
			r.first = readAnswer(head)
			if err != nil {
				close(r.responded)
				if err == io.EOF {
					err = nil
				}
				return err
			}
		}
	}
	close(r.responded)
	_, err := io.Copy(r.client, r.upstream) // splice
	return err
}

func (r *relay) relayUp() error {
	if !r.d.opaque && r.protocol == protoUnknown {
		switch err := r.readHead(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	switch {
	case r.single, r.protocol == protoHTTP && r.d.needsNameCheck(protoHTTP):
		return r.relayRequests()
	case r.hello > 0:
		return r.relayHello()
	}
	if len(r.head) > 0 { // an empty write would take a reset's error from the reader, which then sees an end
		if _, err := r.upstream.Write(r.head); err != nil {
			return err
		}
	}
	return r.relayRest()
}

// readHead reads the first bytes of the client until they show a protocol, and checks them.
// The error is io.EOF if the client sends nothing.
func (r *relay) readHead() error {
	defer r.client.SetReadDeadline(time.Time{})
	if len(r.head) > 0 {
		r.client.SetReadDeadline(time.Now().Add(headTimeout))
	}
	ended := false
	for {
		p := sniffProtocol(r.head)
		if ended && p == protoUnknown {
			p = sniffProtocol(append(r.head, '\n')) // a server may accept it at the end of input
		}
		// An Interceptor checks the name of a handshake itself, except in SSLv2 format.
		if p == protoTLS && r.d.needsNameCheck(p) && (r.d.verdict[p] == verdictPass || r.d.verdict[p] == verdictIntercept && r.head[0]&0x80 != 0) {
			name, n, err := clientHello(r.head)
			switch r.hello = n; {
			case err != nil:
				return &refusal{policy.DeniedAmbiguous, err.Error()}
			case n == 0:
				p = protoUnknown
			default:
				if why, detail := r.g.rules.checkNames(r.d, p, []string{name}); why != "" {
					return &refusal{why, detail}
				}
			}
		}
		switch {
		case p != protoUnknown && r.d.verdict[p] == verdictDeny:
			return &refusal{policy.DeniedWrongScheme, "the connection speaks " + p.String()}
		case p != protoUnknown:
			r.protocol = p
			return nil
		case ended || len(r.head) >= maxHead:
			return &refusal{policy.DeniedAmbiguous, "the first bytes are neither a complete TLS handshake nor a complete request head"}
		}
		err := r.readMore()
		ended = err == io.EOF && len(r.head) > 0
		if err != nil && !ended {
			return err
		}
	}
}

func (r *relay) readMore() error {
	if len(r.head) == cap(r.head) {
		r.head = slices.Grow(r.head, max(sniffBuffer, len(r.head)))
	}
	n, err := r.client.Read(r.head[len(r.head):min(cap(r.head), maxHead)])
	if len(r.head) == 0 && n > 0 {
		r.client.SetReadDeadline(time.Now().Add(headTimeout))
	}
	r.head = r.head[:len(r.head)+n]
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &refusal{policy.DeniedAmbiguous, "the client stopped in the middle of a TLS handshake or request head"}
	}
	return err
}

func (r *relay) intercept() error {
	t := r.g.o.Interceptor
	if t == nil {
		return &refusal{policy.DeniedUnsupported, "its rules depend on the request, and nothing here can read requests"}
	}
	if r.g.life.jailCtx.Err() != nil {
		reset(r.client)
		return nil
	}
	defer context.AfterFunc(r.g.life.jailCtx, func() { reset(r.client) })()
	t.Serve(r.client, r.head, Target{
		Name: r.d.host, Port: int(r.d.to.Port()), TLS: r.protocol == protoTLS, Addr: r.d.to, Done: r.g.life.jailCtx.Done(),
		Deny: func(why policy.DenialReason, detail string) { r.g.denials.deny(r.d, why, detail) },
		Tell: r.g.o.Tell,
	}, func(ctx context.Context) (Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.g.life.jailCtx, cancel)()
		c, err := r.connect(ctx)
		r.g.denials.denyIfRefused(r.d, err)
		return c, err
	})
	return nil
}

func (r *relay) relayRest() error {
	defer context.AfterFunc(r.g.life.jailCtx, r.setIdleDeadline)()
	err := r.copyUp(r.client)
	if r.isShutdown(err) {
		err = r.drain()
	}
	return err
}

func (r *relay) copyUp(src io.Reader) error {
	_, err := io.Copy(r.upstream, src) // splice
	return err
}

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
	return r.connect(ctx)
}

func (r *relay) connect(ctx context.Context) (Conn, error) {
	c, err := r.g.dialer.dial(ctx, r.d)
	if err == nil {
		c = r.g.o.Traffic.count(c, r.d.host, int(r.d.to.Port()))
	}
	return c, err
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
