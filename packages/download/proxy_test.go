package download

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailProxy: where the jail has a proxy, it carries each request with its password, also one to a
// registry on this host.
func TestJailProxy(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.URL.Path) }))
	defer site.Close()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.RequestURI, r.URL.Host = "", site.Listener.Addr().String()
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		io.Copy(w, answer.Body)
	}))
	defer proxy.Close()
	_, port, _ := net.SplitHostPort(proxy.Listener.Addr().String())
	through := "http://jail:pw@127.0.0.1:" + port
	const login = " Basic amFpbDpwdw=="
	for _, c := range []struct{ address, name, asked string }{
		{"http://registry.invalid/a", "HTTP_PROXY", "GET http://registry.invalid/a registry.invalid" + login},
		{"http://registry.invalid/a", "http_proxy", "GET http://registry.invalid/a registry.invalid" + login},
		{"http://localhost:4873/a", "HTTP_PROXY", "GET http://localhost:4873/a localhost:4873" + login},
		{"https://registry.invalid/a", "HTTPS_PROXY", "CONNECT //registry.invalid:443 registry.invalid:443" + login},
		{site.URL + "/a", "", ""},
	} {
		asked = nil
		r, err := newTestRegistry(t, c.address, map[string]string{c.name: through})
		testkit.Must(t, err)
		base, _ := url.Parse(c.address)
		body, _, err := r.get(t.Context(), c.address, base, nil)
		if got := strings.Join(asked, "; "); got != c.asked {
			t.Errorf("%s: the proxy was asked %q, want %q", c.address, got, c.asked)
		}
		if base.Scheme == "https" {
			if err == nil || !strings.Contains(err.Error(), "Forbidden") {
				t.Errorf("%s: %v", c.address, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		text, _ := io.ReadAll(body)
		body.Close()
		if want := base.Host + "/a"; string(text) != want {
			t.Errorf("%s: %q", c.address, text)
		}
	}
}

// TestSessionProxy: with the variables of a session's proxy, a package comes from the granted registry
// on this host, with and without TLS, and from no other.
func TestSessionProxy(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "the answer") })
	plain, secure, other := httptest.NewServer(handler), httptest.NewTLSServer(handler), httptest.NewServer(handler)
	defer plain.Close()
	defer secure.Close()
	defer other.Close()
	cafile := filepath.Join(t.TempDir(), "ca.pem")
	testkit.Must(t, os.WriteFile(cafile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	var rules []policy.NetRule
	for _, s := range []*httptest.Server{plain, secure} {
		u, _ := url.Parse(s.URL)
		port, _ := strconv.Atoi(u.Port())
		rules = append(rules, policy.NetRule{Host: u.Hostname(), Port: port, Scheme: u.Scheme, Allow: true})
	}
	gateway := egress.New(egress.Options{Rules: rules})
	defer gateway.Close()
	listeners, port, err := egress.NewProxyListeners()
	testkit.Must(t, err)
	password := egress.NewProxyPassword()
	gateway.ServeProxy(listeners, password)
	variables := map[string]string{"npm_config_cafile": cafile}
	for _, v := range egress.ProxyVariables(port, password, "node") {
		variables[v.Name] = v.Value
	}
	for _, c := range []struct {
		site *httptest.Server
		want string
	}{{plain, "the answer"}, {secure, "the answer"}, {other, ""}} {
		r, err := newTestRegistry(t, c.site.URL, variables)
		testkit.Must(t, err)
		base, _ := url.Parse(c.site.URL)
		body, _, err := r.get(t.Context(), c.site.URL+"/a", base, nil)
		var got []byte
		if err == nil {
			got, _ = io.ReadAll(body)
			body.Close()
		}
		if string(got) != c.want {
			t.Errorf("%s: %q, %v", c.site.URL, got, err)
		}
		r.client.CloseIdleConnections()
	}
	if d := gateway.Denials(); len(d) != 1 || !strings.HasSuffix(other.URL, strings.TrimPrefix(d[0].Target, "localhost")) {
		t.Errorf("%v", d)
	}
}
