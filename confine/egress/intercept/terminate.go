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

// Terminator serves the connections of one jail.
type Terminator struct {
	rules   []policy.NetRule
	secrets secrets
	roots   *x509.CertPool
	ca      *authority
	// sessions are those of upstreams, to be resumed.
	sessions tls.ClientSessionCache

	transport *http.Transport
	proxy     *httputil.ReverseProxy
	one, two  queue // of HTTP/1 and of HTTP/2

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	links  map[*link]struct{}
}

var _ egress.Terminator = (*Terminator)(nil)

// New makes the authority of a session and starts to serve. It fails when a secret
// cannot be part of a header field, and names its variable.
func New(o Options) (*Terminator, error) {
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
	t := &Terminator{rules: o.Rules, roots: o.Roots, ca: ca, sessions: tls.NewLRUClientSessionCache(64), links: map[*link]struct{}{}}
	if err := t.Arm(o.Secrets); err != nil {
		return nil, err
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.transport = newTransport()
	t.proxy = t.newProxy()
	// Two servers: whether a connection speaks HTTP/2 is known before it gets there.
	t.one, t.two = newQueue(t.ctx), newQueue(t.ctx)
	for _, s := range []struct {
		queue queue
		set   func(*http.Protocols, bool)
	}{{t.one, (*http.Protocols).SetHTTP1}, {t.two, (*http.Protocols).SetHTTP2}} {
		server := t.server(s.set)
		t.work.Go(func() { server.Serve(s.queue) })
	}
	return t, nil
}

func (t *Terminator) server(set func(*http.Protocols, bool)) *http.Server {
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
		ConnState:         changed,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if w, one := c.(*wire); one {
				ctx = context.WithValue(ctx, wireKey{}, w)
			}
			return context.WithValue(ctx, linkKey{}, linkOf(c))
		},
		// OPTIONS * is a request like any other.
		DisableGeneralOptionsHandler: true,
	}
}

// Arm replaces the secrets, with the error of New. It is called before Serve.
func (t *Terminator) Arm(values map[string]string) (err error) {
	t.secrets, err = checkSecrets(values)
	return err
}

// Prepare reads the host's roots, which crypto/x509 keeps, so that no file has to be
// opened later.
func (t *Terminator) Prepare() error {
	if _, err := x509.SystemCertPool(); err != nil {
		return fmt.Errorf("the host's certificate authorities: %w", err)
	}
	return nil
}

// CA is the certificate of the session's authority, in PEM.
func (t *Terminator) CA() []byte { return t.ca.pem }

// Serve takes over a connection of the jail: see egress.Terminator.
func (t *Terminator) Serve(conn *net.TCPConn, head []byte, target egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	conn.SetDeadline(time.Time{}) // that of who has read head
	l := &link{Conn: conn, t: t, head: head, target: target, dial: dial, gone: make(chan struct{}), upstreams: map[*upstream]struct{}{}}
	l.conditional = conditional(t.rules, l.scheme(), target)
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
	if err := l.open(); err != nil {
		l.Close()
	}
	<-l.gone
}

// CatchUp has nothing to do: a refusal is told before it is answered.
func (t *Terminator) CatchUp() {}

func (t *Terminator) add(l *link) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.links == nil {
		return false
	}
	t.links[l] = struct{}{}
	t.work.Add(1)
	return true
}

func (t *Terminator) remove(l *link) {
	t.mu.Lock()
	delete(t.links, l)
	t.mu.Unlock()
	t.work.Done()
}

// Close ends all connections and waits for it.
func (t *Terminator) Close() {
	t.cancel()
	t.mu.Lock()
	links := t.links
	t.links = nil
	t.mu.Unlock()
	for l := range links {
		l.Close()
	}
	t.work.Wait()
}

// queue is a net.Listener of connections that came some other way.
type queue struct {
	conns chan net.Conn
	done  <-chan struct{}
}

func newQueue(ctx context.Context) queue { return queue{make(chan net.Conn), ctx.Done()} }

func (q queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q queue) put(c net.Conn) error {
	select {
	case q.conns <- c:
		return nil
	case <-q.done:
		return net.ErrClosed
	}
}

func (q queue) Close() error   { return nil }
func (q queue) Addr() net.Addr { return &net.TCPAddr{} }

// errRefused ends a handshake that was recorded as a denial.
var errRefused = errors.New("refused")
