package intercept

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	host  = "api.example.com"
	token = "s3cr3t/+=value"
)

// world is an upstream, an Interceptor before it, and the place where the connections
// of a jail arrive.
type world struct {
	*Interceptor
	upstream net.Addr
	gate     net.Listener
	tls      bool
	name     string // of the target
	port     int
	dials    atomic.Int32

	mu      sync.Mutex
	denials []policy.Denial
	leaked  []egress.Leak
}

// authorityOf is what verifies an upstream with or without TLS.
func authorityOf(s *httptest.Server) []byte {
	if s.Certificate() == nil {
		return anAuthority()
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// anAuthority is one that has signed nothing.
var anAuthority = sync.OnceValue(func() []byte {
	a, err := newAuthority(nil)
	if err != nil {
		panic(err)
	}
	return a.pem
})

// serve starts an upstream of Go's, with or without TLS and HTTP/2.
func serve(t *testing.T, kind string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	switch kind {
	case "http":
		s.Start()
	case "h2":
		s.EnableHTTP2 = true
		s.StartTLS()
	case "https":
		s.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

// rule and those below are rules for the host, which httptest's certificate names.
func rule(edit func(*policy.NetRule)) policy.NetRule {
	r := policy.NetRule{Host: host, Allow: true, Where: "mcp-jail.toml:7"}
	edit(&r)
	return r
}

func under(prefix string) policy.NetRule {
	return rule(func(r *policy.NetRule) { r.PathPrefix = prefix })
}

func only(methods ...string) policy.NetRule {
	return rule(func(r *policy.NetRule) { r.Methods = methods })
}

func withSecret(names ...string) policy.NetRule {
	return rule(func(r *policy.NetRule) {
		for _, n := range names {
			r.Secrets = append(r.Secrets, policy.Secret{Env: n})
		}
	})
}

// newWorld puts an Interceptor before an upstream server.
func newWorld(t *testing.T, s *httptest.Server, o Options) *world {
	t.Helper()
	if o.Roots == nil {
		o.Roots = authorityOf(s)
	}
	return newWorldAt(t, s.Listener.Addr(), s.TLS != nil, o)
}

func newWorldAt(t *testing.T, upstream net.Addr, secure bool, o Options) *world {
	t.Helper()
	if o.Roots == nil {
		o.Roots = anAuthority()
	}
	term, err := New(o)
	testkit.Must(t, err)
	w := &world{Interceptor: term, upstream: upstream, tls: secure, name: host, port: 80}
	if secure {
		w.port = 443
	}
	if w.gate, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	go func() {
		for {
			c, err := w.gate.Accept()
			if err != nil {
				return
			}
			served.Go(func() { w.accept(c.(*net.TCPConn)) })
		}
	}()
	t.Cleanup(func() {
		w.gate.Close()
		w.Close()
		served.Wait()
	})
	return w
}

func (w *world) accept(c *net.TCPConn) {
	head := make([]byte, 5)
	n, _ := io.ReadFull(c, head) // a Gateway has already read this
	w.Serve(c, head[:n], egress.Target{
		Name: w.name, Port: w.port, TLS: w.tls,
		Deny: func(why policy.DenialReason, detail string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.denials = append(w.denials, policy.Denial{Reason: why, Detail: detail})
		},
		Tell: func(l egress.Leak) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.leaked = append(w.leaked, l)
		},
	}, func(ctx context.Context) (egress.Conn, error) {
		w.dials.Add(1)
		c, err := new(net.Dialer).DialContext(ctx, "tcp", w.upstream.String())
		if err != nil {
			return nil, err
		}
		return c.(*net.TCPConn), nil
	})
}

// denied empties the list of denials and returns it.
func (w *world) denied() []policy.Denial {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.denials
	w.denials = nil
	return d
}

func (w *world) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.CA())
	return pool
}

// client is a program in the jail, which reaches every host through the Interceptor.
func (w *world) client(t testing.TB, http2 bool) *http.Client {
	t.Helper()
	tr := &http.Transport{
		ForceAttemptHTTP2: http2,
		TLSClientConfig:   &tls.Config{RootCAs: w.pool()},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", w.gate.Addr().String())
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: testkit.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (w *world) url(path string) string {
	if w.tls {
		return "https://" + host + path
	}
	return "http://" + host + path
}

// do sends one request and reads its answer.
func do(t *testing.T, c *http.Client, method, url string, edit func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r := testkit.Get(http.NewRequest(method, url, nil))(t)
	if edit != nil {
		edit(r)
	}
	res := testkit.Get(c.Do(r))(t)
	defer res.Body.Close()
	body := testkit.Get(io.ReadAll(res.Body))(t)
	return res, string(body)
}

// raw sends bytes as they are, over TLS where the world has it, and returns all that
// comes back until the end.
func (w *world) raw(t *testing.T, text string) string {
	t.Helper()
	c := w.connect(t)
	defer c.Close()
	testkit.Must(t, testkit.ErrorOf(io.WriteString(c, text)))
	c.SetReadDeadline(time.Now().Add(20 * time.Second)) // the end of the connection is part of what is asked for
	out, _ := io.ReadAll(c)
	return string(out)
}

func (w *world) connect(t *testing.T) net.Conn {
	t.Helper()
	c := testkit.Get(net.Dial("tcp", w.gate.Addr().String()))(t)
	t.Cleanup(func() { c.Close() })
	if !w.tls {
		return c
	}
	secure := tls.Client(c, &tls.Config{RootCAs: w.pool(), ServerName: host})
	testkit.Must(t, secure.Handshake())
	return secure
}

// protocols are the ways to reach an upstream, and what a request says it came by.
var protocols = []struct {
	kind  string
	http2 bool
	proto string
}{{"http", false, "HTTP/1.1"}, {"https", false, "HTTP/1.1"}, {"https", true, "HTTP/1.1"}, {"h2", false, "HTTP/1.1"}, {"h2", true, "HTTP/2.0"}}

// each runs a test once for every protocol.
func each(t *testing.T, test func(t *testing.T, kind string, http2 bool, proto string)) {
	for _, p := range protocols {
		name := p.kind
		if p.http2 {
			name += ", client offers h2"
		}
		t.Run(name, func(t *testing.T) { test(t, p.kind, p.http2, p.proto) })
	}
}

func contains(list []policy.Denial, why policy.DenialReason, detail string) bool {
	return slices.ContainsFunc(list, func(d policy.Denial) bool {
		return d.Reason == why && strings.Contains(d.Detail, detail)
	})
}

// scripted is an upstream that keeps the bytes of each request up to the end of its
// header, and answers with the bytes of the function.
func scripted(t *testing.T, answer func(request string, c net.Conn)) net.Addr {
	t.Helper()
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go egresstest.Serve(l, func(c net.Conn) {
		r := bufio.NewReader(c)
		var head strings.Builder
		for {
			line, err := r.ReadString('\n')
			head.WriteString(line)
			if err != nil {
				return
			}
			if line == "\r\n" {
				answer(head.String(), c)
				head.Reset()
			}
		}
	})
	return l.Addr()
}
