package tlsworker_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	host   = "api.example.com"
	secret = "s3cr3t-that-nobody-sees"
)

// TestMain is the program too.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case tlsworker.Name:
	case launching:
		launch()
	default:
		os.Exit(m.Run())
	}
	log.SetOutput(io.Discard)
	err := tlsworker.Run(func(s tlsworker.Setup) (tlsworker.Handler, error) { return intercept.New(intercept.Options(s)) })
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// program is a process without a jail.
type program struct{ *exec.Cmd }

// run starts this test as the program.
func run(_ context.Context, in, out *os.File) (tlsworker.Process, error) {
	return runProgram("/proc/self/exe", in, out)
}

func runProgram(path string, in, out *os.File) (tlsworker.Process, error) {
	c := &exec.Cmd{Path: path, Args: []string{tlsworker.Name}, Stdin: in, Stdout: out}
	return program{c}, c.Start()
}

func (p program) Kill() error { return p.Process.Kill() }

func (p program) Wait() string {
	p.Cmd.Wait()
	return p.ProcessState.String()
}

func rules() []policy.NetRule {
	return []policy.NetRule{{Host: host, Methods: []string{"GET", "PUT"}, Secrets: []policy.Secret{{Env: "T"}}, Allow: true, Where: "mcp-jail.toml:3"}}
}

func upstream(t testing.TB, handler http.HandlerFunc) (*httptest.Server, []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// start starts the program with an authority that verifies upstreams.
func start(t testing.TB, root []byte) (*tlsworker.Worker, program) {
	t.Helper()
	var p tlsworker.Process
	w, err := tlsworker.Start(t.Context(), tlsworker.Options{Setup: tlsworker.Setup{Rules: rules(), Secrets: map[string]string{"T": secret}, Roots: root},
		Run: func(ctx context.Context, in, out *os.File) (_ tlsworker.Process, err error) {
			p, err = run(ctx, in, out)
			return p, err
		}})
	testkit.Must(t, err)
	t.Cleanup(w.Close)
	return w, p.(program)
}

// gate accepts connections in place of an egress.Gateway.
type gate struct {
	net.Listener
	program  egress.Interceptor
	upstream string
	open     atomic.Int32

	mu      sync.Mutex
	denials []policy.Denial
}

func newGate(t testing.TB, p egress.Interceptor, upstream string) *gate {
	t.Helper()
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	g := &gate{Listener: l, program: p, upstream: upstream}
	var served sync.WaitGroup
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { g.serve(c.(*net.TCPConn)) })
		}
	}()
	t.Cleanup(func() { l.Close(); served.Wait() })
	return g
}

func (g *gate) serve(c *net.TCPConn) {
	g.open.Add(1)
	defer g.open.Add(-1)
	head := make([]byte, 100)
	n, _ := c.Read(head)
	g.program.Serve(c, head[:n], egress.Target{
		Name: host, Port: 443, TLS: true,
		Deny: func(why policy.DenialReason, detail string) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.denials = append(g.denials, policy.Denial{Reason: why, Detail: detail})
		},
	}, func(ctx context.Context) (egress.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", g.upstream)
		if err != nil {
			return nil, err
		}
		return c.(*net.TCPConn), nil
	})
}

// refused are the denials so far.
func (g *gate) refused() []policy.Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.denials)
}

func (g *gate) client(t testing.TB, ca []byte, http2 bool) *http.Client {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatalf("no certificate: %q", ca)
	}
	tr := &http.Transport{
		ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", g.Addr().String())
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: testkit.Patience}
}

func fetch(t testing.TB, c *http.Client, method string, body io.Reader) (int, string) {
	t.Helper()
	r := testkit.Get(http.NewRequest(method, "https://"+host+"/x", body))(t)
	r.Header.Set("Authorization", "token "+policy.Placeholder("T"))
	res := testkit.Get(c.Do(r))(t)
	defer res.Body.Close()
	out := testkit.Get(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(out)
}
