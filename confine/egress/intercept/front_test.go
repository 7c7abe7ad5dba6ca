package intercept

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

type loopbackNames struct{}

func (loopbackNames) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}

// TestSessionProxy: requests that come through the session's proxy are decided one by one, in a tunnel
// and as requests for a URL.
func TestSessionProxy(t *testing.T) {
	for _, kind := range []string{"https", "http"} {
		t.Run(kind, func(t *testing.T) {
			s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.Method, " ", r.RequestURI, " ", r.Header.Get("Proxy-Authorization"))
			})
			port := s.Listener.Addr().(*net.TCPAddr).Port
			rules := []policy.NetRule{
				{Host: host, Port: port, Scheme: kind, PathPrefix: "/v1", Allow: true},
				{Host: "127.0.0.1", Port: port, Allow: true},
			}
			i, err := New(Options{Rules: rules, Roots: authorityOf(s)})
			testkit.Must(t, err)
			t.Cleanup(i.Close)
			g := egress.New(egress.Options{
				Rules: rules, Interceptor: i, Upstream: loopbackNames{},
				Proxy:   func(*url.URL) (*url.URL, error) { return nil, nil },
				IsLocal: func(netip.Addr) (bool, error) { return false, nil },
			})
			t.Cleanup(g.Close)
			listeners, proxyPort, err := egress.NewProxyListeners()
			testkit.Must(t, err)
			password := egress.NewProxyPassword()
			g.ServeProxy(listeners, password)

			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(i.CA())
			proxy := &url.URL{Scheme: "http", User: url.UserPassword("jail", password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(proxyPort))}
			transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}}
			t.Cleanup(transport.CloseIdleConnections)
			at := kind + "://" + net.JoinHostPort(host, strconv.Itoa(port))
			for path, want := range map[string]string{"/v1/x": "200 GET /v1/x ", "/v2/x": "403 "} {
				r, err := (&http.Client{Transport: transport}).Get(at + path)
				testkit.Must(t, err)
				b, err := io.ReadAll(r.Body)
				testkit.Must(t, err)
				r.Body.Close()
				if got := fmt.Sprintf("%d %s", r.StatusCode, b); !strings.HasPrefix(got, want) || r.StatusCode == 200 && got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
			if d := g.Denials(); len(d) != 1 || d[0].Reason != policy.DeniedRequest {
				t.Errorf("%+v", d)
			}
			if kind == "https" {
				return
			}
			// A second request in the connection of a first one that was granted is not served.
			c, err := net.Dial("tcp", proxy.Host)
			testkit.Must(t, err)
			defer c.Close()
			auth := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("jail:"+password)) + "\r\n\r\n"
			fmt.Fprintf(c, "GET %s/v1/a HTTP/1.1\r\n%sGET %[1]s/v1/b HTTP/1.1\r\n%[2]s", at, auth)
			b, _ := io.ReadAll(bufio.NewReader(c))
			if got := string(b); strings.Count(got, "HTTP/1.1 ") != 1 || !strings.Contains(got, "GET /v1/a ") {
				t.Errorf("%q", got)
			}
		})
	}
}
