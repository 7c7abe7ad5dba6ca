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

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// jailConn is one connection of the jail together with its upstream connections.
type jailConn struct {
	egress.Conn // the jail's side
	t           *Interceptor
	head        []byte // already read from the jail's side
	target      egress.Target
	dial        func(context.Context) (egress.Conn, error)
	// conditional means that the rules tell the requests of this connection apart.
	conditional bool
	mask        *leak.Mask // of what its responses must not show; nil: nothing

	once   sync.Once
	closed chan struct{} // closed when the connection has ended

	// The results of the first TLS handshake with the upstream: why its certificate was
	// refused, and the protocol. They are set before the first request.
	untrusted error
	protocol  string

	connecting sync.Mutex
	client     *http.ClientConn // of the upstream; connecting is held while it is replaced

	mu        sync.Mutex
	upstreams map[*upstream]struct{} // the open ones
	firstTLS  *tls.Conn              // the first TLS connection, until the first request takes it
}

func jailConnOf(c net.Conn) *jailConn {
	switch c := c.(type) {
	case *jailConn:
		return c
	case *tls.Conn:
		return jailConnOf(c.NetConn())
	}
	return nil
}

func (c *jailConn) scheme() string {
	if c.target.TLS {
		return "https"
	}
	return "http"
}

func (c *jailConn) Read(p []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Close ends both sides.
func (c *jailConn) Close() error {
	c.once.Do(func() {
		c.Conn.Close()
		c.mu.Lock()
		open := c.upstreams
		c.upstreams = nil
		c.mu.Unlock()
		for u := range open {
			u.Conn.Close()
		}
		close(c.closed)
	})
	return nil
}

// reset ends both sides, the jail's side with RST, after a failure that an HTTP response
// cannot express.
func (c *jailConn) reset() {
	c.SetLinger(0)
	c.Close()
}

func (c *jailConn) handshake() error {
	if !c.target.TLS {
		return c.t.accepted.deliver(c)
	}
	ctx, cancel := context.WithTimeout(c.t.ctx, helloTime)
	defer cancel()
	conn := tls.Server(c, &tls.Config{GetConfigForClient: c.configureTLS, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	return c.t.accepted.deliver(conn)
}

// configureTLS chooses the certificate and protocol that the jail sees. It decides by the
// ClientHello and the result of a handshake with the upstream.
func (c *jailConn) configureTLS(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if !c.isTargetName(hello.ServerName) {
		detail := "the TLS handshake names " + quote(hello.ServerName)
		if hello.ServerName == "" {
			detail = "the TLS handshake names no host"
		}
		c.deny(policy.DeniedWrongName, detail)
		c.Conn.Write([]byte{21, 3, 3, 0, 2, 2, 112}) // a fatal alert: unrecognized_name (RFC 6066)
		return nil, errRefused
	}
	offers := slices.DeleteFunc(slices.Clone(hello.SupportedProtos), func(p string) bool { return p != "h2" && p != "http/1.1" })
	if len(offers) == 0 && len(hello.SupportedProtos) > 0 {
		offers = []string{"http/1.1"} // the client did not offer it, so the handshake fails
	}
	c.protocol = "http/1.1"
	up, err := c.dialTLS(hello.Context(), offers)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		c.untrusted = untrusted.Err
		c.deny(policy.DeniedRequest, "the certificate of the host cannot be verified: "+untrusted.Err.Error())
	case err != nil:
		c.reset()
		return nil, err
	default:
		if p := up.ConnectionState().NegotiatedProtocol; p != "" {
			c.protocol = p
		}
		c.mu.Lock()
		c.firstTLS = up
		c.mu.Unlock()
	}
	leaf, err := c.t.ca.leaf(c.target.Name)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{*leaf}, MinVersion: tls.VersionTLS12,
		// A client could use a session ticket for other hosts.
		SessionTicketsDisabled: true,
	}
	if len(offers) > 0 {
		config.NextProtos = []string{c.protocol}
	}
	return config, nil
}

// isTargetName reports whether the server name of a handshake is the target's. A handshake
// with an IP address has no server name.
func (c *jailConn) isTargetName(name string) bool {
	if name == "" {
		return isAddress(c.target.Name)
	}
	normal, err := policy.NormalizeTarget(name)
	return err == nil && normal == c.target.Name
}

// deny records a refusal. Callers answer the jail only afterwards.
func (c *jailConn) deny(why policy.DenialReason, detail string) {
	if c.target.Deny != nil {
		c.target.Deny(why, detail)
	}
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func quote(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "?")
}

// upstream is one connection to the host of a jailConn.
type upstream struct {
	net.Conn
	jail *jailConn
}

var errConnClosed = errors.New("the connection has ended")

func (c *jailConn) dialUpstream(ctx context.Context) (*upstream, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	u := &upstream{Conn: conn, jail: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.upstreams == nil {
		conn.Close()
		return nil, errConnClosed
	}
	c.upstreams[u] = struct{}{}
	return u, nil
}

func (c *jailConn) dialTLS(ctx context.Context, offers []string) (*tls.Conn, error) {
	raw, err := c.dialUpstream(ctx)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName: c.target.Name, RootCAs: c.t.roots(), NextProtos: offers, MinVersion: tls.VersionTLS12,
		ClientSessionCache: c.t.sessions,
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

func (u *upstream) Close() error {
	u.jail.mu.Lock()
	delete(u.jail.upstreams, u)
	u.jail.mu.Unlock()
	return u.Conn.Close()
}

// newTransport returns a transport that connects to the upstream of the jailConn in the
// context. It keeps no idle connections; the jailConn does.
func newTransport() *http.Transport {
	return &http.Transport{
		Protocols: bothProtocols(),
		HTTP2:     http2Config(),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(jailConnKey{}).(*jailConn).dialUpstream(ctx)
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(jailConnKey{}).(*jailConn).tlsUpstream(ctx)
		},
		DisableCompression:     true, // responses are forwarded unchanged
		ExpectContinueTimeout:  continueTime,
		MaxResponseHeaderBytes: maxAnswer,
		WriteBufferSize:        64 << 10,
		ReadBufferSize:         64 << 10,
	}
}

func (c *jailConn) tlsUpstream(ctx context.Context) (net.Conn, error) {
	c.mu.Lock()
	ready := c.firstTLS
	c.firstTLS = nil
	c.mu.Unlock()
	if ready != nil {
		return ready, nil
	}
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	return c.dialTLS(ctx, []string{c.protocol})
}

func (c *jailConn) roundTrip(r *http.Request) (*http.Response, error) {
	client, err := c.clientConn(r.Context())
	if err != nil {
		return nil, err
	}
	return client.RoundTrip(r)
}

func (c *jailConn) clientConn(ctx context.Context) (*http.ClientConn, error) {
	c.connecting.Lock()
	defer c.connecting.Unlock()
	if c.client != nil && c.client.Err() == nil {
		return c.client, nil
	}
	host := net.JoinHostPort(c.target.Name, "0") // only for error messages
	client, err := c.t.transport.NewClientConn(context.WithValue(ctx, jailConnKey{}, c), c.scheme(), host)
	if err != nil {
		return nil, err
	}
	c.client = client
	return client, nil
}
