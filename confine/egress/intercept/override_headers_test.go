package intercept

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestOverrideHeaders: fields that name another path or method are refused only where
// rules look at those, however servers write their names.
func TestOverrideHeaders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "passed")
		})
		for _, field := range []string{
			"X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-HTTP_Method-Override", "X.Http.Method.Override", "X-Original_URL",
			"X-Forwarded-Uri", "X-Envoy-Original-Path", "X-Forwarded-Prefix", "X-Override-Url", "X-Amz-Copy-Source", "x-goog-copy-source",
		} {
			with := func(r *http.Request) { r.Header[field] = []string{"", "DELETE"} }
			if http2 {
				with = func(r *http.Request) { r.Header[strings.ToLower(field)] = []string{"", "DELETE"} }
			}
			for _, c := range []struct {
				rule   policy.NetRule
				status int
			}{{only("POST"), 403}, {under("/x"), 403}, {withSecret("T"), 200}} {
				w := newWorld(t, s, Options{Rules: []policy.NetRule{c.rule}})
				client := w.client(t, http2)
				if res, body := do(t, client, "POST", w.url("/x"), with); res.StatusCode != c.status {
					t.Errorf("%s, %v: %d %s", field, c.rule, res.StatusCode, body)
				}
				if c.status != 200 && !contains(w.denied(), policy.DeniedAmbiguous, "another path or method") {
					t.Errorf("%s, %v: no denial", field, c.rule)
				}
				if res, body := do(t, client, "POST", w.url("/x"), func(r *http.Request) { r.Header.Set("X-Method-Name", "a") }); res.StatusCode != 200 {
					t.Errorf("control, %v: %d %s", c.rule, res.StatusCode, body)
				}
			}
		}
	})
}

// TestOverrideParameter: a parameter that names another method is refused in a POST, where rules look
// at methods.
func TestOverrideParameter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {})
		for _, c := range []struct {
			rule   policy.NetRule
			method string
			query  string
			status int
		}{
			{only("POST"), "POST", "_method=DELETE", 403}, {only("POST"), "POST", "a=1&_METHOD=x", 403}, {only("POST"), "POST", "%5fmethod", 403},
			{only("POST"), "POST", "a;_method=DELETE", 403}, {only("POST"), "POST", "+.method=DELETE", 403},
			{only("POST"), "POST", "method=DELETE", 200}, {only("POST"), "POST", "a=_method", 200}, {only("POST"), "POST", "x_method=a", 200},
			{only("GET"), "GET", "_method=DELETE", 200}, {withSecret("T"), "POST", "_method=DELETE", 200},
		} {
			w := newWorld(t, s, Options{Rules: []policy.NetRule{c.rule}})
			if res, body := do(t, w.client(t, http2), c.method, w.url("/x?"+c.query), nil); res.StatusCode != c.status {
				t.Errorf("%s ?%s, %v: %d %s", c.method, c.query, c.rule, res.StatusCode, body)
			}
		}
	})
}

// TestDestination: the resource to which another one is copied needs a rule as well.
func TestDestination(t *testing.T) {
	t.Parallel()
	other := policy.NetRule{Host: "other.example.com", PathPrefix: "/in", Methods: []string{"COPY"}, Allow: true, Where: "mcp-jail.toml:8"}
	put := rule(func(r *policy.NetRule) { r.PathPrefix, r.Methods = "/put", []string{"PUT"} })
	rules := []policy.NetRule{under("/pub"), put, other}
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {})
		w := newWorld(t, s, Options{Rules: rules})
		c := w.client(t, http2)
		for to, why := range map[string]policy.DenialReason{
			"/pub/b":                             "",
			"/pub/%C3%A9 b":                      "",
			"http://API.example.com/pub/b":       "",
			"https://api.example.com:443/pub/b":  "",
			"https://other.example.com/in/b":     "",
			"https://other.example.com/b":        policy.DeniedRequest,
			"/admin":                             policy.DeniedRequest,
			"/publication":                       policy.DeniedRequest,
			"/put/b":                             policy.DeniedRequest,
			w.url(""):                            policy.DeniedRequest,
			"https://api.example.com:8443/pub/b": policy.DeniedRequest,
			"https://evil.example.com/pub/b":     policy.DeniedRequest,
			"/pub/../admin":                      policy.DeniedAmbiguous,
			"/pub/b?/../../admin":                policy.DeniedAmbiguous,
			"/pub\\..\\admin":                    policy.DeniedAmbiguous,
			"https://x@api.example.com/pub/b":    policy.DeniedAmbiguous,
			"file:///pub/b":                      policy.DeniedAmbiguous,
			"pub/b":                              policy.DeniedAmbiguous,
			"":                                   policy.DeniedAmbiguous,
		} {
			want := map[bool]int{true: 200, false: 403}[why == ""]
			res, body := do(t, c, "COPY", w.url("/pub/a"), func(r *http.Request) { r.Header["Destination"] = []string{to} })
			denied := w.denied()
			if res.StatusCode != want || why != "" && !contains(denied, why, "COPY /pub/a: ") || why == "" && denied != nil {
				t.Errorf("%q: %d %s, %v", to, res.StatusCode, body, denied)
			}
		}
		res, _ := do(t, c, "MOVE", w.url("/pub/a"), func(r *http.Request) { r.Header["Destination"] = []string{"/pub/b", "/admin"} })
		if res.StatusCode != 403 {
			t.Errorf("two of them: %d", res.StatusCode)
		}
		w = newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}})
		if res, body := do(t, w.client(t, http2), "COPY", w.url("/pub/a"), func(r *http.Request) { r.Header.Set("Destination", "/admin") }); res.StatusCode != 200 {
			t.Errorf("without a rule about requests: %d %s", res.StatusCode, body)
		}
	})
}
