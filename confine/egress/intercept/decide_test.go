package intercept

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDecideByRules: what the rules allow arrives, and nothing else does.
func TestDecideByRules(t *testing.T) {
	t.Parallel()
	deny := func(prefix string) policy.NetRule {
		return rule(func(r *policy.NetRule) { r.PathPrefix, r.Allow, r.Where = prefix, false, "mcp-jail.toml:9" })
	}
	for _, c := range []struct {
		name         string
		rules        []policy.NetRule
		method, path string
		status       int
		why          policy.DenialReason
		text         string
	}{
		{"path", []policy.NetRule{under("/repos")}, "GET", "/repos/a?x=1", 200, "", ""},
		{"other path", []policy.NetRule{under("/repos")}, "GET", "/user", 403, policy.DeniedRequest, `mcp-jail.toml:7 (host = "api.example.com", path_prefix = "/repos"`},
		{"segment", []policy.NetRule{under("/repos")}, "GET", "/reposition", 403, policy.DeniedRequest, "no rule allows it"},
		{"dots", []policy.NetRule{under("/repos")}, "GET", "/repos/../user", 403, policy.DeniedAmbiguous, "dot segments"},
		{"a name with dots and spaces", []policy.NetRule{under("/repos")}, "GET", "/repos/a..b%20%C3%A9/..a", 200, "", ""},
		{"escaped slash, no path rule", []policy.NetRule{only("GET")}, "GET", "/@scope%2fname", 200, "", ""},
		{"denied path", []policy.NetRule{withSecret("T"), deny("/admin")}, "GET", "/admin/x", 403, policy.DeniedRequest, "the rule at mcp-jail.toml:9 denies it"},
		{"beside a denied path", []policy.NetRule{withSecret("T"), deny("/admin")}, "GET", "/administration", 200, "", ""},
		{"around a denied path", []policy.NetRule{withSecret("T"), deny("/admin")}, "GET", "/x/..%2fadmin", 403, policy.DeniedAmbiguous, ""},
		{"method", []policy.NetRule{only("GET", "POST")}, "POST", "/x", 200, "", ""},
		{"other method", []policy.NetRule{only("GET")}, "DELETE", "/x", 403, policy.DeniedRequest, `methods = ["GET"]`},
		{"small letters", []policy.NetRule{only("GET")}, "get", "/x", 403, policy.DeniedAmbiguous, "capitals"},
		{"TRACE", []policy.NetRule{withSecret("T")}, "TRACE", "/x", 403, policy.DeniedRequest, "TRACE"},
	} {
		each(t, func(t *testing.T, kind string, http2 bool, proto string) {
			var seen []string
			s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, r.Method+" "+r.RequestURI)
				if r.Proto != proto {
					t.Errorf("%s: the upstream was spoken to in %s", c.name, r.Proto)
				}
			})
			w := newWorld(t, s, Options{Rules: c.rules, Secrets: map[string]string{"T": token}})
			res, body := do(t, w.client(t, http2), c.method, w.url(c.path), nil)
			denied := w.denied()
			if res.StatusCode != c.status || !strings.Contains(body, c.text) {
				t.Errorf("%s: %d %q", c.name, res.StatusCode, body)
			}
			if c.status == 200 && (len(seen) != 1 || seen[0] != c.method+" "+c.path || denied != nil) {
				t.Errorf("%s: the upstream saw %q, denials %v", c.name, seen, denied)
			}
			if c.status != 200 && (seen != nil || len(denied) != 1 || !contains(denied, c.why, c.method+" /")) {
				t.Errorf("%s: the upstream saw %q, denials %v", c.name, seen, denied)
			}
		})
	}
}

// TestFields: a field that some servers read as one that names the host of a message, or says where it
// ends, reaches no host, in no version of HTTP.
func TestFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		reached := 0
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); reached++ })
		w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": token}})
		c := w.client(t, http2)
		for _, f := range []struct {
			name    string
			trailer bool
			passes  bool
		}{
			{"x-sum", false, true},
			{"x-sum", true, true},
			{"x-content-length", true, true},
			{"transfer_encoding", false, false},
			{"Content_Length", false, false},
			{"content.length", false, false},
			{"keep_alive", false, false},
			{"host-", false, false},
			{"Host", true, false},
			{"Transfer_encoding", true, false},
			{"Content.length", true, false},
			{"Te.", true, false},
		} {
			if f.name == "Host" && http2 {
				continue // the protocol itself refuses it there
			}
			reached = 0
			res, body := do(t, c, "POST", w.url("/x"), func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("0\r\n\r\nDELETE /")), -1
				if f.trailer {
					r.Trailer = http.Header{f.name: {"5"}}
				} else {
					r.Header[f.name] = []string{"5"}
				}
			})
			denied := w.denied()
			refused := res.StatusCode == 403 && reached == 0 && contains(denied, policy.DeniedAmbiguous, "some servers read")
			if passed := res.StatusCode == 200 && reached == 1 && denied == nil; passed != f.passes || passed == refused {
				t.Errorf("%s, trailer %v: %d %q, denials %v, reached %d times", f.name, f.trailer, res.StatusCode, body, denied, reached)
			}
		}
	})
}

// TestHost: a request for another host than that of its connection goes nowhere.
func TestHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		reached := 0
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { reached++ })
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
		c := w.client(t, http2)
		for _, name := range []string{host, "API.Example.COM", host + ".", host + ":" + port(w)} {
			reached = 0
			if res, body := do(t, c, "GET", w.url("/"), func(r *http.Request) { r.Host = name }); res.StatusCode != 200 || reached != 1 {
				t.Errorf("%s: %d %s", name, res.StatusCode, body)
			}
		}
		for _, name := range []string{"other.example.com", host + ".evil.com", host + ":1", "127.0.0.1"} {
			reached = 0
			res, body := do(t, c, "GET", w.url("/"), func(r *http.Request) { r.Host = name })
			if res.StatusCode != 421 || reached != 0 {
				t.Errorf("%s: %d %s", name, res.StatusCode, body)
			}
		}
		if !contains(w.denied(), policy.DeniedWrongName, "other.example.com") {
			t.Error("the denial is missing")
		}
	})
}

func port(w *world) string {
	if w.tls {
		return "443"
	}
	return "80"
}
