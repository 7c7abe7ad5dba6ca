package intercept

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Limits for peers. Streams and uploads have no time limit, because programs may wait for
// responses as long as they like.
const (
	helloTime      = 30 * time.Second      // for the handshakes on both sides
	headerTime     = time.Minute           // for the header of a request
	idleTime       = 15 * time.Minute      // between two requests, unless the upstream closes earlier
	maxHeader      = 64 << 10              // bytes in the header of a request
	maxAnswer      = 1 << 20               // bytes in the header of a response
	maxStreams     = 100                   // at once in an HTTP/2 connection
	maxUnread      = 1 << 20               // bytes of HTTP/2 that a connection or stream takes before they are read
	bodyTime       = 50 * time.Millisecond // for the rest of a body after its response
	continueTime   = time.Second           // before a body is sent without 100 Continue
	leafLife       = 30 * 24 * time.Hour
	authorityLife  = 2 * 365 * 24 * time.Hour
	clockTolerance = 24 * time.Hour
)

// Options configure an [Interceptor].
type Options struct {
	Rules []policy.NetRule // the profile's rules, normalised
	// Secrets are values by the variable that holds their placeholder. The placeholder of a
	// secret without a value is not replaced.
	Secrets map[string]string
	Leaks   egress.Leaks // the secrets to find in requests
	Roots   []byte       // the authorities (PEM) that verify the certificates of upstreams
}

// Interceptor serves the connections of one jail.
type Interceptor struct {
	rules   []policy.NetRule
	secrets secrets
	leaks   leaks
	roots   func() *x509.CertPool
	ca      *authority
	// sessions holds TLS sessions with upstreams, for resumption.
	sessions tls.ClientSessionCache

	proxy     *httputil.ReverseProxy
	transport *http.Transport
	accepted  connListener

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	conns  map[*jailConn]struct{}
}

// New creates the session's authority and starts serving. If a secret cannot be part of a
// header field, the error names its variable.
func New(o Options) (*Interceptor, error) {
	ca, err := newAuthority(o.Rules)
	if err != nil {
		return nil, err
	}
	i := &Interceptor{rules: o.Rules, ca: ca, sessions: tls.NewLRUClientSessionCache(64), conns: map[*jailConn]struct{}{}}
	if i.secrets, err = checkSecrets(o.Secrets); err != nil {
		return nil, err
	}
	if !o.Leaks.IsZero() {
		i.SetLeaks(o.Leaks)
	}
	i.roots = sync.OnceValue(func() *x509.CertPool {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(o.Roots)
		return pool
	})
	i.work.Go(func() { i.roots() }) // they take longer than all else, and the first connection needs them
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.proxy, i.transport = i.newProxy(), newTransport()
	i.accepted = connListener{make(chan net.Conn), i.ctx.Done()}
	i.work.Go(func() { i.server().Serve(i.accepted) })
	return i, nil
}

func (i *Interceptor) server() *http.Server {
	return &http.Server{
		Handler:           i,
		Protocols:         bothProtocols(),
		BaseContext:       func(net.Listener) context.Context { return i.ctx },
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // it would contain what peers sent
		HTTP2:             http2Config(),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, jailConnKey{}, jailConnOf(c))
		},
		// OPTIONS * goes to the upstream like any other request.
		DisableGeneralOptionsHandler: true,
	}
}

func bothProtocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	return p
}

func http2Config() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread}
}

// CA returns the certificate of the session's authority in PEM.
func (i *Interceptor) CA() []byte { return i.ca.pem }

// Serve takes over a connection of the jail, as egress.Interceptor does.
func (i *Interceptor) Serve(conn egress.Conn, head []byte, target egress.Target, dial func(context.Context) (egress.Conn, error)) {
	if len(i.rules) == 0 {
		i.carry(conn, target, dial)
		return
	}
	c := &jailConn{Conn: conn, t: i, head: head, target: target, dial: dial, closed: make(chan struct{}), upstreams: map[*upstream]struct{}{}}
	c.conditional = hasConditions(i.rules, c.scheme(), target)
	c.mask = i.maskOf(c)
	if !i.add(c) {
		c.Close()
		return
	}
	defer i.remove(c)
	stop := make(chan struct{})
	defer close(stop)
	i.work.Go(func() {
		select {
		case <-target.Done:
			c.Close()
		case <-stop:
		}
	})
	if err := c.handshake(); err != nil {
		c.Close()
	}
	<-c.closed
}

func (i *Interceptor) add(c *jailConn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conns == nil {
		return false
	}
	i.conns[c] = struct{}{}
	i.work.Add(1)
	return true
}

func (i *Interceptor) remove(c *jailConn) {
	i.mu.Lock()
	delete(i.conns, c)
	i.mu.Unlock()
	i.work.Done()
}

// Close ends all connections and waits for them.
func (i *Interceptor) Close() {
	i.cancel()
	i.mu.Lock()
	links := i.conns
	i.conns = nil
	i.mu.Unlock()
	for c := range links {
		c.Close()
	}
	i.work.Wait()
}

// connListener is a net.Listener whose connections come from deliver.
type connListener struct {
	conns chan net.Conn
	done  <-chan struct{}
}

func (q connListener) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q connListener) deliver(c net.Conn) error {
	select {
	case q.conns <- c:
		return nil
	case <-q.done:
		return net.ErrClosed
	}
}

func (q connListener) Close() error   { return nil }
func (q connListener) Addr() net.Addr { return &net.TCPAddr{} }

// errRefused ends a handshake whose refusal is already recorded.
var errRefused = errors.New("refused")
