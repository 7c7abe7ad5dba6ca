package intercept

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// upstream is one connection to the host of a link, which counts what is sent.
type upstream struct {
	net.Conn
	jail *jailConn
}

var (
	errConnClosed   = errors.New("the connection has ended")
	errTooManyDials = errors.New("the upstream ends every connection")
)

// dialUpstream reaches the upstream's address, which somebody else has checked.
func (l *jailConn) dialUpstream(ctx context.Context) (*upstream, error) {
	l.mu.Lock()
	l.dials++
	tooMany := l.dials > maxDials
	l.mu.Unlock()
	if tooMany {
		return nil, errTooManyDials
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	u := &upstream{Conn: conn, jail: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.upstreams == nil {
		conn.Close()
		return nil, errConnClosed
	}
	l.upstreams[u] = struct{}{}
	return u, nil
}

// dialTLS does the handshake as well, and verifies who is there.
func (l *jailConn) dialTLS(ctx context.Context, offers []string) (*tls.Conn, error) {
	raw, err := l.dialUpstream(ctx)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName: l.target.Name, RootCAs: l.t.roots, NextProtos: offers, MinVersion: tls.VersionTLS12,
		ClientSessionCache: l.t.sessions,
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// Write counts first: of what is cut off nothing is to have gone.
func (u *upstream) Write(p []byte) (int, error) {
	if n, step := u.jail.sent.Add(int64(len(p))), u.jail.target.ReportStep; step > 0 && n >= step && !u.jail.flushSent() {
		u.jail.Close()
		return 0, errConnClosed
	}
	return u.Conn.Write(p)
}

// flushSent tells what is sent, and whether that may be.
func (l *jailConn) flushSent() bool {
	n := l.sent.Swap(0)
	return n == 0 || l.target.ReportSent == nil || l.target.ReportSent(n)
}

func (u *upstream) Close() error {
	u.jail.mu.Lock()
	delete(u.jail.upstreams, u)
	u.jail.mu.Unlock()
	u.jail.flushSent()
	return u.Conn.Close()
}

// newTransport makes connections to upstreams for the link in the context. It keeps
// none: a link does that itself.
func newTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(jailConnKey{}).(*jailConn).dialUpstream(ctx)
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(jailConnKey{}).(*jailConn).tlsUpstream(ctx)
		},
		DisableCompression:     true, // answers are the client's, as they are
		ExpectContinueTimeout:  continueTime,
		MaxResponseHeaderBytes: maxAnswer,
		WriteBufferSize:        64 << 10,
		ReadBufferSize:         64 << 10,
	}
}

// tlsUpstream is the connection of the first handshake once, then a new one each time, in
// the same protocol.
func (l *jailConn) tlsUpstream(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	ready := l.firstTLS
	l.firstTLS = nil
	l.mu.Unlock()
	if ready != nil {
		return ready, nil
	}
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	return l.dialTLS(ctx, []string{l.protocol})
}

// roundTrip sends one request to the upstream.
func (l *jailConn) roundTrip(r *http.Request) (*http.Response, error) {
	client, err := l.clientConn(r.Context())
	if err != nil {
		return nil, err
	}
	return client.RoundTrip(r)
}

// clientConn returns the connection for the next request: that of the last one, unless
// the upstream has ended it.
func (l *jailConn) clientConn(ctx context.Context) (*http.ClientConn, error) {
	l.connecting.Lock()
	defer l.connecting.Unlock()
	if l.client != nil && l.client.Err() == nil {
		return l.client, nil
	}
	host := net.JoinHostPort(l.target.Name, "0") // for error messages only
	client, err := l.t.transport.NewClientConn(context.WithValue(ctx, jailConnKey{}, l), l.scheme(), host)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.client = client
	l.mu.Unlock()
	client.SetStateHook(func(*http.ClientConn) { l.closeIdle() })
	return client, nil
}

// closeIdle ends a connection between two requests, as the upstream has done.
func (l *jailConn) closeIdle() {
	idle := func() *http.ClientConn {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.idle {
			return nil
		}
		return l.client
	}
	// Without the lock: an upstream can have Go's client stuck for good.
	client := idle()
	if client != nil && client.Err() != nil && idle() == client {
		l.Close()
	}
}
