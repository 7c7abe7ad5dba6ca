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

// jailConn is one connection of the jail together with what it has at the upstream.
type jailConn struct {
	net.Conn // the jail's
	t        *Interceptor
	head     []byte // read from the jail's already
	target   egress.Target
	dial     func(context.Context) (*net.TCPConn, error)
	// conditional: whether the rules tell requests of this connection apart.
	conditional bool
	sent        atomic.Int64 // bytes upstream of which nobody was told yet

	once   sync.Once
	closed chan struct{} // closed with the connection

	// What the first handshake with the upstream had for a result: why its certificate
	// was refused, and the protocol. Set before there are requests.
	untrusted error
	protocol  string

	connecting sync.Mutex // held while client is being replaced

	mu        sync.Mutex
	upstreams map[*upstream]struct{} // that are open
	firstTLS  *tls.Conn              // the first one over TLS, from the handshake to the first request
	client    *http.ClientConn
	dials     int
	idle      bool // between two requests
}

// jailConnOf finds the link below what a server was given.
func jailConnOf(c net.Conn) *jailConn {
	switch c := c.(type) {
	case *jailConn:
		return c
	case *headerRecorder:
		return c.jail
	case *tls.Conn:
		return jailConnOf(c.NetConn())
	}
	return nil
}

func (l *jailConn) scheme() string {
	if l.target.TLS {
		return "https"
	}
	return "http"
}

func (l *jailConn) Read(p []byte) (int, error) {
	if len(l.head) > 0 {
		n := copy(p, l.head)
		l.head = l.head[n:]
		return n, nil
	}
	return l.Conn.Read(p)
}

// CloseWrite lets net/http end a connection so that its last answer arrives.
func (l *jailConn) CloseWrite() error { return l.Conn.(*net.TCPConn).CloseWrite() }

// Close ends both sides.
func (l *jailConn) Close() error {
	l.once.Do(func() {
		l.Conn.Close()
		l.mu.Lock()
		open := l.upstreams
		l.upstreams = nil
		l.mu.Unlock()
		for u := range open {
			u.Conn.Close()
		}
		l.flushSent()
		close(l.closed)
	})
	return nil
}

// reset ends both sides, the jail's with RST: something went wrong, and not in a
// way in which HTTP could say so.
func (l *jailConn) reset() {
	if c, ok := l.Conn.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	l.Close()
}

// handshake does the handshakes, and hands the connection to one of the servers.
func (l *jailConn) handshake() error {
	if !l.target.TLS {
		return l.t.http1.deliver(&headerRecorder{Conn: l, jail: l})
	}
	ctx, cancel := context.WithTimeout(l.t.ctx, helloTime)
	defer cancel()
	conn := tls.Server(l, &tls.Config{GetConfigForClient: l.configureTLS, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		return l.t.http2.deliver(conn)
	}
	return l.t.http1.deliver(&headerRecorder{Conn: conn, jail: l})
}

// configureTLS decides what the jail is shown, from what it said first and from what the
// upstream says to that.
func (l *jailConn) configureTLS(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if !l.isTargetName(hello.ServerName) {
		detail := "the TLS handshake names " + quote(hello.ServerName)
		if hello.ServerName == "" {
			detail = "the TLS handshake names no host"
		}
		l.deny(egress.Denial{Why: egress.ReasonWrongName, Detail: detail})
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
		l.deny(egress.Denial{Why: egress.ReasonRequest, Detail: "the certificate of the host cannot be verified: " + untrusted.Err.Error()})
	case err != nil:
		l.reset()
		return nil, err
	default:
		if p := up.ConnectionState().NegotiatedProtocol; p != "" {
			l.protocol = p
		}
		l.mu.Lock()
		l.firstTLS = up
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

// isTargetName tells whether a name that the jail's program sent is that of the host. There
// is no name in a handshake with an address.
func (l *jailConn) isTargetName(name string) bool {
	if name == "" {
		return isAddress(l.target.Name)
	}
	normal, err := policy.NormalizeTarget(name)
	return err == nil && normal == l.target.Name
}

// deny tells of a refusal. Only what comes after it may show that to the jail.
func (l *jailConn) deny(d egress.Denial) {
	d.Host, d.Port, d.Network = l.target.Name, l.target.Port, "tcp"
	if l.target.Deny != nil {
		l.target.Deny(d)
	}
}

// onStateChange is told by the servers what a connection is at.
func onStateChange(c net.Conn, state http.ConnState) {
	l := jailConnOf(c)
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
