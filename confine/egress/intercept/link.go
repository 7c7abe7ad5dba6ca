package intercept

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// link is one connection of the jail together with what it has at the upstream.
type link struct {
	net.Conn // the jail's
	t        *Terminator
	head     []byte // read from the jail's already
	target   egress.Target
	dial     func(context.Context) (*net.TCPConn, error)
	// conditional: whether the rules tell requests of this connection apart.
	conditional bool
	sent        atomic.Int64 // bytes upstream of which nobody was told yet

	once sync.Once
	gone chan struct{} // closed with the connection

	// What the first handshake with the upstream had for a result: why its certificate
	// was refused, and the protocol. Set before there are requests.
	untrusted error
	protocol  string

	connecting sync.Mutex // held while client is being replaced

	mu        sync.Mutex
	upstreams map[*upstream]struct{} // that are open
	ready     *tls.Conn              // the first one over TLS, from the handshake to the first request
	client    *http.ClientConn
	dials     int
	idle      bool // between two requests
}

// linkOf finds the link below what a server was given.
func linkOf(c net.Conn) *link {
	switch c := c.(type) {
	case *link:
		return c
	case *wire:
		return c.link
	case *tls.Conn:
		return linkOf(c.NetConn())
	}
	return nil
}

func (l *link) scheme() string {
	if l.target.TLS {
		return "https"
	}
	return "http"
}

func (l *link) Read(p []byte) (int, error) {
	if len(l.head) > 0 {
		n := copy(p, l.head)
		l.head = l.head[n:]
		return n, nil
	}
	return l.Conn.Read(p)
}

// CloseWrite lets net/http end a connection so that its last answer arrives.
func (l *link) CloseWrite() error { return l.Conn.(*net.TCPConn).CloseWrite() }

// Close ends both sides.
func (l *link) Close() error {
	l.once.Do(func() {
		l.Conn.Close()
		l.mu.Lock()
		open := l.upstreams
		l.upstreams = nil
		l.mu.Unlock()
		for u := range open {
			u.Conn.Close()
		}
		l.report()
		close(l.gone)
	})
	return nil
}

// reset ends both sides, the jail's with RST: something went wrong, and not in a
// way in which HTTP could say so.
func (l *link) reset() {
	if c, ok := l.Conn.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	l.Close()
}

// open does the handshakes, and hands the connection to one of the servers.
func (l *link) open() error {
	if !l.target.TLS {
		return l.t.one.put(&wire{Conn: l, link: l})
	}
	ctx, cancel := context.WithTimeout(l.t.ctx, helloTime)
	defer cancel()
	conn := tls.Server(l, &tls.Config{GetConfigForClient: l.configure, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		return l.t.two.put(conn)
	}
	return l.t.one.put(&wire{Conn: conn, link: l})
}

// configure decides what the jail is shown, from what it said first and from what the
// upstream says to that.
func (l *link) configure(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if !l.isNamed(hello.ServerName) {
		detail := "the TLS handshake names " + quote(hello.ServerName)
		if hello.ServerName == "" {
			detail = "the TLS handshake names no host"
		}
		l.deny(egress.Denial{Why: egress.WrongName, Detail: detail})
		l.Conn.Write([]byte{21, 3, 3, 0, 2, 2, 112}) // a fatal alert: unrecognized_name (RFC 6066)
		return nil, errRefused
	}
	offers := slices.DeleteFunc(slices.Clone(hello.SupportedProtos), func(p string) bool { return p != "h2" && p != "http/1.1" })
	if len(offers) == 0 && len(hello.SupportedProtos) > 0 {
		offers = []string{"http/1.1"} // which it did not offer: the handshake fails
	}
	l.protocol = "http/1.1"
	up, err := l.dialTLS(hello.Context(), offers)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		l.untrusted = untrusted.Err
		l.deny(egress.Denial{Why: egress.Request, Detail: "the certificate of the host cannot be verified: " + untrusted.Err.Error()})
	case err != nil:
		l.reset()
		return nil, err
	default:
		if p := up.ConnectionState().NegotiatedProtocol; p != "" {
			l.protocol = p
		}
		l.mu.Lock()
		l.ready = up
		l.mu.Unlock()
	}
	leaf, err := l.t.ca.leaf(l.target.Name)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{*leaf}, MinVersion: tls.VersionTLS12,
		// A ticket would be good for the other hosts as well.
		SessionTicketsDisabled: true,
	}
	if len(offers) > 0 {
		config.NextProtos = []string{l.protocol}
	}
	return config, nil
}

// isNamed tells whether a name that the jail's program sent is that of the host. There
// is no name in a handshake with an address.
func (l *link) isNamed(name string) bool {
	if name == "" {
		return isAddress(l.target.Name)
	}
	normal, err := policy.NormalizeTarget(name)
	return err == nil && normal == l.target.Name
}

// deny tells of a refusal. Only what comes after it may show that to the jail.
func (l *link) deny(d egress.Denial) {
	d.Host, d.Port, d.Network = l.target.Name, l.target.Port, "tcp"
	if l.target.Deny != nil {
		l.target.Deny(d)
	}
}

// changed is told by the servers what a connection is at.
func changed(c net.Conn, state http.ConnState) {
	l := linkOf(c)
	l.mu.Lock()
	l.idle = state == http.StateIdle
	l.mu.Unlock()
	if state == http.StateIdle {
		go l.closeIdle() // who serves the connection is not to wait for an upstream
	}
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// quote makes a text of a peer harmless in a message.
func quote(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "?")
}
