package tlsclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/egress/upstream"
)

// TestMain makes the test binary the program that is tested.
func TestMain(m *testing.M) {
	prepare, clean := sandbox()
	if os.Args[0] == tlsworker.Name {
		if Run(os.Args[2]) != nil {
			os.Exit(1)
		}
		return
	}
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	clean()
	os.Exit(status)
}

// tlsProxy is a proxy that is reached by TLS. It answers CONNECT, says hello, echoes, and tells what
// it was asked.
func tlsProxy(t *testing.T) (port, certificate string, asked chan string) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	cert := s.TLS.Certificates[0]
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
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
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, certificate, asked
}

// TestTLSProxy: a connection through a proxy that is reached by TLS carries every byte both ways, and
// the end of each. A proxy whose certificate is not trusted, or is of another name, gets nothing.
func TestTLSProxy(t *testing.T) {
	port, certificate, asked := tlsProxy(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ host, authorities, fails string }{
		{"127.0.0.1", certificate, ""},
		{"127.0.0.1", none, "authority"},
		{"localhost", certificate, "localhost"},
	} {
		t.Setenv("SSL_CERT_FILE", c.authorities)
		t.Setenv("SSL_CERT_DIR", "/nonexistent")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		proxy := &url.URL{Scheme: "https", Host: c.host + ":" + port, User: url.UserPassword("me", "pw")}
		conn, err := upstream.Dial(ctx, proxy, "api.test", netip.MustParseAddrPort("198.51.100.7:443"), func(ctx context.Context, conn *net.TCPConn, name string) (*net.TCPConn, error) {
			return tlsworker.StartTLS(ctx, self, conn, name)
		})
		cancel()
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.HasPrefix(err.Error(), "TLS with it fails: ") || len(asked) > 0 {
				t.Errorf("%s: %v, asked %d", c.host, err, len(asked))
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
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
	}
}
