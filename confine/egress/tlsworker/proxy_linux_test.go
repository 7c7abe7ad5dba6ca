package tlsworker_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	proxies "github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// tlsProxy is a proxy that is reached by TLS. It answers CONNECT, says hello, echoes, and tells what
// it was asked.
func tlsProxy(t *testing.T) (port string, certificate []byte, asked chan string) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	cert := s.TLS.Certificates[0]
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	s.Close()
	l := testkit.Get(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}}))(t)
	t.Cleanup(func() { l.Close() })
	asked = make(chan string, 64)
	go egresstest.Serve(l, func(c net.Conn) {
		b := bufio.NewReader(c)
		head := ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := b.ReadString('\n')
			if err != nil {
				return
			}
			head += line
		}
		asked <- head
		io.WriteString(c, "HTTP/1.1 200 fine\r\n\r\nhello")
		io.Copy(c, b)
		io.WriteString(c, "bye")
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, certificate, asked
}

func starter(root []byte) func(context.Context) (*tlsworker.Worker, error) {
	return func(ctx context.Context) (*tlsworker.Worker, error) {
		return tlsworker.Start(ctx, tlsworker.Options{Setup: tlsworker.Setup{Roots: root}, Run: run})
	}
}

// throughProxy connects to a host through the proxy.
func throughProxy(t *testing.T, p *tlsworker.Proxy, at string) (proxies.Conn, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	proxy := &url.URL{Scheme: "https", Host: at, User: url.UserPassword("me", "pw")}
	return proxies.DialProxy(ctx, proxy, "api.test", netip.MustParseAddrPort("198.51.100.7:443"), p.StartTLS)
}

// TestTLSProxy: a connection through a proxy that is reached by TLS carries every byte both ways, and
// the end of each. A proxy whose certificate is not trusted, or is of another name, gets nothing.
func TestTLSProxy(t *testing.T) {
	port, certificate, asked := tlsProxy(t)
	other := testkit.Get(intercept.New(intercept.Options{Roots: certificate}))(t)
	defer other.Close()
	for _, c := range []struct {
		name, host  string
		authorities []byte
		fails       string
	}{
		{"its authority", "127.0.0.1", certificate, ""},
		{"another authority", "127.0.0.1", other.CA(), "authority"},
		{"another name", "localhost", certificate, "localhost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &tlsworker.Proxy{Start: starter(c.authorities)}
			defer p.Close()
			conn, err := throughProxy(t, p, c.host+":"+port)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.HasPrefix(err.Error(), "TLS with it fails: ") || len(asked) > 0 {
					t.Errorf("%v, asked %d", err, len(asked))
				}
				return
			}
			testkit.Must(t, err)
			const size = 5 << 20
			go func() {
				io.WriteString(conn, strings.Repeat("x", size))
				conn.CloseWrite()
			}()
			got, err := io.ReadAll(conn)
			conn.Close()
			if want := "hello" + strings.Repeat("x", size) + "bye"; err != nil || string(got) != want {
				t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
			}
			if head := <-asked; head != "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\nProxy-Authorization: Basic bWU6cHc=\r\n\r\n" {
				t.Errorf("asked %q", head)
			}
		})
	}
}

// TestTLSProxyOnce: one process carries all connections, and they end with it.
func TestTLSProxyOnce(t *testing.T) {
	port, certificate, _ := tlsProxy(t)
	starts, start := 0, starter(certificate)
	p := &tlsworker.Proxy{Start: func(ctx context.Context) (*tlsworker.Worker, error) { starts++; return start(ctx) }}
	defer p.Close()
	var last proxies.Conn
	for range 3 {
		conn := testkit.Get(throughProxy(t, p, "127.0.0.1:"+port))(t)
		defer conn.Close()
		last = conn
	}
	testkit.Equal(t, "processes were started", starts, 1)
	p.Close()
	testkit.Fails(t, "a connection did not end with the process", testkit.ErrorOf(io.ReadAll(last)), "")
}
