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
)

const (
	firstRead    = 4 << 10
	firstTimeout = time.Minute            // for first bytes that have begun
	lastAnswer   = 100 * time.Millisecond // for what upstream sent before it failed
)

var errOut = &refusal{TooMany, "the session has sent as much as it may (net_out_mb)"}

// serve does with one connection what the rules say, until it ends.
func (g *Gate) serve(c *net.TCPConn, to netip.AddrPort) {
	defer c.Close()
	stop := context.AfterFunc(g.ctx, func() { reset(c) })
	defer stop()
	d := g.decide(to)
	if !d.granted() {
		g.deny(&d, d.why, d.detail)
		reset(c)
		return
	}
	r := relay{g: g, d: &d, client: c, answered: make(chan struct{})}
	var err error
	if d.terminates() {
		switch err = r.look(); {
		case err == io.EOF:
			return
		case err == nil && d.verdict[r.protocol] == terminate:
			err = r.terminate()
			if err == nil {
				return
			}
		}
	}
	if err == nil {
		r.upstream, err = r.dial()
	}
	if err != nil {
		g.denyError(&d, err)
		reset(c)
		return
	}
	r.run()
}

// reset ends a connection with an RST.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// relay is one connection and what came first on it.
type relay struct {
	g                *Gate
	d                *destination
	client, upstream *net.TCPConn
	protocol         protocol
	head             []byte // read and not sent on yet

	status   [len("HTTP/1.1 101")]byte // with which upstream began
	answered chan struct{}             // closed when that is known
}

// run passes on what either side sends, and how it ends: one direction, both, or
// with a reset.
func (r *relay) run() {
	stop := context.AfterFunc(r.g.ctx, r.abort)
	defer stop()
	defer context.AfterFunc(r.g.jail, r.hearNoMore)()
	down := make(chan error, 1)
	go func() {
		err := r.in()
		switch {
		case err == nil:
			r.client.CloseWrite()
		case r.g.jail.Err() != nil:
			err = nil // it was ended
		default:
			r.abort()
		}
		down <- err
	}()
	err := r.out()
	switch {
	case err == nil:
		r.upstream.CloseWrite()
	case r.g.denyError(r.d, err):
		r.abort()
	case r.client.CloseRead() != nil: // ENOTCONN: it was the client that failed
		r.abort()
	default: // upstream, and there may be an answer before its end
		r.upstream.SetReadDeadline(time.Now().Add(lastAnswer))
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

// in passes on what upstream sends. How it begins is what a request to leave HTTP
// waits for.
func (r *relay) in() error {
	if !r.d.blind {
		b, n := make([]byte, firstRead), 0
		for n < len(r.status) {
			m, err := r.upstream.Read(b)
			if _, werr := r.client.Write(b[:m]); werr != nil {
				err = werr
			}
			n += copy(r.status[n:], b[:m])
			if err != nil {
				close(r.answered)
				if err == io.EOF {
					err = nil
				}
				return err
			}
		}
	}
	close(r.answered)
	_, err := r.client.ReadFrom(r.upstream)
	return err
}

// out passes on what the client sends, once its first bytes are in order.
func (r *relay) out() error {
	if !r.d.blind && r.protocol == unknown {
		switch err := r.look(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	if r.protocol == protoHTTP && r.d.asksNames(protoHTTP) {
		return r.requests()
	}
	if _, err := r.Write(r.head); err != nil {
		return err
	}
	return r.rest()
}

// look reads the first bytes, until it can be told what they are, and checks
// them. The error is io.EOF where the client has nothing to say.
func (r *relay) look() error {
	defer r.client.SetReadDeadline(time.Time{})
	ended := false
	for {
		p := guess(r.head)
		if ended && p == unknown {
			p = guess(append(r.head, '\n')) // as a server may take it
		}
		// A Terminator asks for names itself, in handshakes that it can read.
		if p == protoTLS && r.d.asksNames(p) && (r.d.verdict[p] == pass || r.d.verdict[p] == terminate && r.head[0]&0x80 != 0) {
			name, more, err := clientHello(r.head)
			switch {
			case err != nil:
				return &refusal{Ambiguous, err.Error()}
			case more:
				p = unknown
			default:
				if why, detail := r.g.speaks(r.d, p, []string{name}); why != 0 {
					return &refusal{why, detail}
				}
			}
		}
		switch {
		case p != unknown && r.d.verdict[p] == deny:
			return &refusal{WrongScheme, "it speaks " + p.String()}
		case p != unknown:
			r.protocol = p
			return nil
		case ended || len(r.head) >= maxFirst:
			return &refusal{Ambiguous, "the first bytes have no end"}
		}
		err := r.more()
		ended = err == io.EOF && len(r.head) > 0
		if err != nil && !ended {
			return err
		}
	}
}

// more reads something to add to the first bytes.
func (r *relay) more() error {
	if len(r.head) == cap(r.head) {
		r.head = slices.Grow(r.head, max(firstRead, len(r.head)))
	}
	n, err := r.client.Read(r.head[len(r.head):min(cap(r.head), maxFirst)])
	if len(r.head) == 0 && n > 0 {
		r.client.SetReadDeadline(time.Now().Add(firstTimeout))
	}
	r.head = r.head[:len(r.head)+n]
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &refusal{Ambiguous, "the first bytes stopped in the middle"}
	}
	return err
}

// terminate has a Terminator serve the connection.
func (r *relay) terminate() error {
	t := r.g.o.Terminator
	if t == nil {
		return &refusal{Unsupported, "nothing here sees its requests"}
	}
	if r.g.jail.Err() != nil {
		reset(r.client)
		return nil
	}
	defer context.AfterFunc(r.g.jail, func() { reset(r.client) })()
	if r.g.over() { // it says what it sent when that has gone
		return errOut
	}
	t.Serve(r.client, r.head, Target{
		Name: r.d.host, Port: int(r.d.to.Port()), TLS: r.protocol == protoTLS, Addr: r.d.to, Done: r.g.jail.Done(),
		Step: r.g.step(), Most: r.g.o.Limits.OutBytes,
		Sent: func(n int64) bool {
			ok := r.g.spend(n)
			if !ok {
				r.g.denyError(r.d, errOut)
			}
			return ok
		},
		Deny: func(d Denial) {
			if d.Host == "" {
				d.Host = r.d.host
			}
			if d.Port == 0 {
				d.Port = int(r.d.to.Port())
			}
			if d.Network == "" {
				d.Network = "tcp"
			}
			r.g.record(d)
		},
	}, func(ctx context.Context) (*net.TCPConn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.g.jail, cancel)()
		if r.g.over() {
			r.g.denyError(r.d, errOut)
			return nil, errOut
		}
		c, err := r.g.dial(ctx, r.d)
		r.g.denyError(r.d, err)
		return c, err
	})
	return nil
}

// rest passes on all that is left of the client's.
func (r *relay) rest() error {
	defer context.AfterFunc(r.g.jail, r.awaitQuiet)()
	err := r.pass(r.client)
	if r.isCut(err) {
		err = r.lastWords()
	}
	return err
}

func (r *relay) pass(src io.Reader) error {
	var err error
	if r.g.o.Limits.OutBytes == 0 {
		_, err = r.upstream.ReadFrom(src) // splice
	} else {
		_, err = io.Copy(r, src)
	}
	return err
}

// Write sends bytes upstream and counts them.
func (r *relay) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if !r.g.spend(int64(len(b))) {
		return 0, errOut
	}
	return r.upstream.Write(b)
}
