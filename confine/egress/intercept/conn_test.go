package intercept

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHandshake: a handshake that names another host, or none, fails; the upstream
// is not even dialled.
func TestHandshake(t *testing.T) {
	t.Parallel()
	s := serve(t, "h2", func(w http.ResponseWriter, r *http.Request) {})
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
	for _, c := range []struct{ name, why string }{
		{"", "names no host"}, {"other.example.com", "other.example.com"}, {host + ".evil.com", "evil"}, {"example.com", "names example.com"},
	} {
		conn, err := net.Dial("tcp", w.gate.Addr().String())
		testkit.Must(t, err)
		err = tls.Client(conn, &tls.Config{ServerName: c.name, InsecureSkipVerify: true}).Handshake()
		conn.Close()
		testkit.Fails(t, c.name, err, "unrecognized name")
		if !contains(w.denied(), policy.DeniedWrongName, c.why) {
			t.Errorf("%q: no denial", c.name)
		}
	}
	testkit.Equal(t, "connections to the upstream", w.dials.Load(), 0)
	for _, name := range []string{host, "API.example.com"} {
		conn, _ := net.Dial("tcp", w.gate.Addr().String())
		if err := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: w.pool()}).Handshake(); err != nil {
			t.Errorf("control, %q: %v", name, err)
		}
		conn.Close()
	}
}

// TestProtocols: what the jail is offered is what the upstream speaks.
func TestProtocols(t *testing.T) {
	t.Parallel()
	for _, c := range testkit.Table[struct {
		kind   string
		offers []string
		want   string
	}](t, "protocols.txt") {
		s := serve(t, c.kind, func(w http.ResponseWriter, r *http.Request) {})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
		conn, err := net.Dial("tcp", w.gate.Addr().String())
		testkit.Must(t, err)
		secure := tls.Client(conn, &tls.Config{ServerName: host, RootCAs: w.pool(), NextProtos: c.offers})
		err = secure.Handshake()
		got := secure.ConnectionState().NegotiatedProtocol
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s, %v: %q, %v", c.kind, c.offers, got, err)
		}
		conn.Close()
	}
}

// TestUntrusted: an upstream that cannot prove who it is gets no request, and the
// client is told why.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		if kind == "http" {
			return
		}
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { t.Error("a request arrived") })
		for _, c := range []struct {
			name string
			edit func(w *world)
			text string
		}{
			{"another authority", func(w *world) { w.roots = w.pool }, "unknown authority"},
			{"another name", func(w *world) { w.name = "api.other.org" }, "not api.other.org"},
		} {
			w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET"), {Host: "api.other.org", Methods: []string{"GET"}, Allow: true}}})
			c.edit(w)
			res, body := do(t, w.client(t, http2), "GET", "https://"+w.name+"/", nil)
			if res.StatusCode != 502 || !strings.Contains(body, "cannot be verified") || !strings.Contains(body, c.text) {
				t.Errorf("%s: %d %s", c.name, res.StatusCode, body)
			}
			if d := w.denied(); len(d) != 1 || !strings.Contains(d[0].Detail, c.text) {
				t.Errorf("%s: %v", c.name, d)
			}
		}
	})
}
