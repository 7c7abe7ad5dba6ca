package terminate

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSecrets: the upstream gets the values, in header fields of requests over TLS
// that a rule with the secret decides, and nowhere else.
func TestSecrets(t *testing.T) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	hold, other := policy.Placeholder("T"), policy.Placeholder("OTHER")
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var got http.Header
		var rest string
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got, rest = r.Header, r.RequestURI+" "+string(body)
		})
		plainRule := under("/plain")
		w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T", "U", "MISSING"), plainRule}, Secrets: map[string]string{"T": token, "U": "second", "OTHER": "not for this host"}})
		c := w.client(t, http2)
		send := func(path string) {
			do(t, c, "POST", w.url(path), func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+hold)
				r.Header["X-Twice"] = []string{hold, "a " + hold + " b " + policy.Placeholder("U") + hold}
				r.Header.Set("X-Basic", basic("user:"+hold))
				r.Header.Set("X-Basic-2", strings.Replace(basic(hold+":x"), "Basic", "bASIC", 1))
				r.Header.Set("X-Other", other)
				r.Header.Set("X-Missing", policy.Placeholder("MISSING"))
				r.Header.Set("X-Part", "mcp-jail-secret-T and mcp-jail-secret-TT-placeholder")
				r.Header.Set("X-Base64", base64.StdEncoding.EncodeToString([]byte(hold)))
				r.Body = io.NopCloser(strings.NewReader(hold))
			})
		}
		send("/x?key=" + hold)
		want := map[string]string{
			"Authorization": "Bearer " + token,
			"X-Basic":       basic("user:" + token),
			"X-Basic-2":     strings.Replace(basic(token+":x"), "Basic", "bASIC", 1),
			"X-Twice":       token + "|a " + token + " b second" + token,
			"X-Other":       other,
			"X-Missing":     policy.Placeholder("MISSING"),
			"X-Part":        "mcp-jail-secret-T and mcp-jail-secret-TT-placeholder",
			"X-Base64":      base64.StdEncoding.EncodeToString([]byte(hold)),
		}
		if kind == "http" {
			want["Authorization"], want["X-Basic"] = "Bearer "+hold, basic("user:"+hold)
			delete(want, "X-Basic-2")
			delete(want, "X-Twice")
		}
		for name, value := range want {
			if v := strings.Join(got.Values(name), "|"); v != value {
				t.Errorf("%s: %q, not %q", name, v, value)
			}
		}
		if rest != "/x?key="+hold+" "+hold {
			t.Errorf("target and body: %s", rest)
		}
		// Another rule decides: no secret.
		send("/plain/x")
		if v := got.Get("Authorization"); v != "Bearer "+hold {
			t.Errorf("a rule without the secret: %s", v)
		}
	})
}

// TestSecretValues: a value that could be more than the value of a field is refused,
// and not shown.
func TestSecretValues(t *testing.T) {
	for value, good := range map[string]bool{
		"ghp_x": true, "with space": true, "ünï": true,
		"": false, "a\nb": false, "a\r\nX-Evil: 1": false, "a\x00b": false, "a\tb": false, "a\x7f": false, " a": false, "a\n": false,
	} {
		term, err := New(Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": value}})
		if (err == nil) != good {
			t.Errorf("%q: %v", value, err)
		}
		if err == nil {
			term.Close()
		} else if !strings.Contains(err.Error(), "the secret T ") || len(value) > 2 && strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestEcho documents what cannot be held: an upstream that shows what it received
// shows the secret to the jail.
func TestEcho(t *testing.T) {
	s := serve(t, "h2", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Authorization")) })
	w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": token}})
	_, body := do(t, w.client(t, true), "GET", w.url("/"), func(r *http.Request) { r.Header.Set("Authorization", policy.Placeholder("T")) })
	if body != token {
		t.Errorf("%q: then doc.go and SECURITY.md say too little of us", body)
	}
}
