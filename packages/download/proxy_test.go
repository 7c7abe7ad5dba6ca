package download

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
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
		if err != nil {
			t.Fatal(err)
		}
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
