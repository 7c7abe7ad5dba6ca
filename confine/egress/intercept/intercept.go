package intercept

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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

// What one peer may take. Streams and uploads have no limit of time: programs wait for
// answers as long as they like.
const (
	helloTime      = 30 * time.Second      // for the handshakes of both sides
	headerTime     = time.Minute           // for the header of a request
	idleTime       = 15 * time.Minute      // between two requests, where the upstream does not end it
	maxHeader      = 256 << 10             // bytes of a request's header
	maxAnswer      = 1 << 20               // bytes of an answer's header
	maxStreams     = 250                   // at once in an HTTP/2 connection
	maxDials       = 100                   // connections to the upstream in the life of one of the jail's
	bodyTime       = 50 * time.Millisecond // for the rest of a body that was answered already
	continueTime   = time.Second           // until a body is sent without the upstream's word
	leafLife       = 30 * 24 * time.Hour
	authorityLife  = 2 * 365 * 24 * time.Hour
	clockTolerance = 24 * time.Hour
)

// Options are what a Terminator needs to know.
type Options struct {
	Rules []policy.NetRule // of the profile: normalised
	// Secrets are the values by the variable that holds their placeholder. One that is
	// missing is not put in.
	Secrets map[string]string
	// Roots verify the upstreams' certificates; nil are the host's, with MoreRoots (PEM).
	Roots     *x509.CertPool
	MoreRoots []byte
}

// Interceptor serves the connections of one jail.
type Interceptor struct {
	rules   []policy.NetRule
	secrets secrets
	roots   *x509.CertPool
	ca      *authority
	// sessions are those of upstreams, to be resumed.
	sessions tls.ClientSessionCache

	transport    *http.Transport
	proxy        *httputil.ReverseProxy
	http1, http2 connListener // of HTTP/1 and of HTTP/2

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	conns  map[*jailConn]struct{}
}

var _ egress.Interceptor = (*Interceptor)(nil)

// New makes the authority of a session and starts to serve. It fails when a secret
// cannot be part of a header field, and names its variable.
func New(o Options) (*Interceptor, error) {
	ca, err := newAuthority(o.Rules)
	if err != nil {
		return nil, err
	}
	if o.MoreRoots != nil && o.Roots == nil {
		if o.Roots, err = x509.SystemCertPool(); err != nil {
			return nil, err
		}
		if !o.Roots.AppendCertsFromPEM(o.MoreRoots) {
			return nil, errors.New("there is no certificate in what should be more authorities")
		}
	}
	t := &Interceptor{rules: o.Rules, roots: o.Roots, ca: ca, sessions: tls.NewLRUClientSessionCache(64), conns: map[*jailConn]struct{}{}}
	if err := t.SetSecrets(o.Secrets); err != nil {
		return nil, err
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.transport = newTransport()
	t.proxy = t.newProxy()
	// Two servers: whether a connection speaks HTTP/2 is known before it gets there.
	t.http1, t.http2 = newConnListener(t.ctx), newConnListener(t.ctx)
	for _, s := range []struct {
		queue connListener
		set   func(*http.Protocols, bool)
	}{{t.http1, (*http.Protocols).SetHTTP1}, {t.http2, (*http.Protocols).SetHTTP2}} {
		server := t.server(s.set)
		t.work.Go(func() { server.Serve(s.queue) })
	}
	return t, nil
}

func (t *Interceptor) server(set func(*http.Protocols, bool)) *http.Server {
	protocols := new(http.Protocols)
	set(protocols, true)
	return &http.Server{
		Handler:           t,
		Protocols:         protocols,
		BaseContext:       func(net.Listener) context.Context { return t.ctx },
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // what a peer sent is no matter for a log
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnState:         onStateChange,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if w, one := c.(*headerRecorder); one {
				ctx = context.WithValue(ctx, recorderKey{}, w)
			}
			return context.WithValue(ctx, jailConnKey{}, jailConnOf(c))
		},
		// OPTIONS * is a request like any other.
		DisableGeneralOptionsHandler: true,
	}
}

// SetSecrets replaces the secrets, with the error of New. It is called before Serve.
func (t *Interceptor) SetSecrets(values map[string]string) (err error) {
	t.secrets, err = checkSecrets(values)
	return err
}

// Prepare reads the host's roots, which crypto/x509 keeps, so that no file has to be
// opened later.
func (t *Interceptor) Prepare() error {
	if _, err := x509.SystemCertPool(); err != nil {
		return fmt.Errorf("the host's certificate authorities: %w", err)
	}
	return nil
}

// CA is the certificate of the session's authority, in PEM.
func (t *Interceptor) CA() []byte { return t.ca.pem }

// Serve takes over a connection of the jail: see egress.Terminator.
func (t *Interceptor) Serve(conn *net.TCPConn, head []byte, target egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	conn.SetDeadline(time.Time{}) // that of who has read head
	l := &jailConn{Conn: conn, t: t, head: head, target: target, dial: dial, closed: make(chan struct{}), upstreams: map[*upstream]struct{}{}}
	l.conditional = hasConditions(t.rules, l.scheme(), target)
	if !t.add(l) {
		l.Close()
		return
	}
	defer t.remove(l)
	stop := make(chan struct{})
	defer close(stop)
	t.work.Go(func() {
		select {
		case <-target.Done:
			l.Close()
		case <-stop:
		}
	})
	if err := l.handshake(); err != nil {
		l.Close()
	}
	<-l.closed
}

// FlushDenials has nothing to do: a refusal is told before it is answered.
func (t *Interceptor) FlushDenials() {}

func (t *Interceptor) add(l *jailConn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		return false
	}
	t.conns[l] = struct{}{}
	t.work.Add(1)
	return true
}

func (t *Interceptor) remove(l *jailConn) {
	t.mu.Lock()
	delete(t.conns, l)
	t.mu.Unlock()
	t.work.Done()
}

// Close ends all connections and waits for it.
func (t *Interceptor) Close() {
	t.cancel()
	t.mu.Lock()
	links := t.conns
	t.conns = nil
	t.mu.Unlock()
	for l := range links {
		l.Close()
	}
	t.work.Wait()
}

// connListener is a net.Listener of connections that came some other way.
type connListener struct {
	conns chan net.Conn
	done  <-chan struct{}
}

func newConnListener(ctx context.Context) connListener {
	return connListener{make(chan net.Conn), ctx.Done()}
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

// errRefused ends a handshake that was recorded as a denial.
var errRefused = errors.New("refused")
