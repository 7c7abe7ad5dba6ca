package intercept

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

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
