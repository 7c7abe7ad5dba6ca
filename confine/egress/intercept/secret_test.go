package intercept

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
	t.Parallel()
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	hold, other := policy.Placeholder("T"), policy.Placeholder("OTHER")
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var got http.Header
		var rest string
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got, rest = r.Header, r.RequestURI+" "+string(body)
		})
		secretRule := withSecret("T", "U", "MISSING")
		secretRule.PathPrefix = "/x"
		w := newWorld(t, s, Options{Rules: []policy.NetRule{secretRule, under("/plain")}, Secrets: map[string]string{"T": token, "U": "second", "OTHER": "not for this host"}})
		c := w.client(t, http2)
		send := func(path string) {
			do(t, c, "POST", w.url(path), func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+hold)
				r.Header["X-Api-Key"] = []string{hold, "a " + hold + " b " + policy.Placeholder("U") + hold}
				r.Header.Set("Private-Token", basic("user:"+hold))
				r.Header.Set("X-Auth-Token", strings.Replace(basic(hold+":x"), "Basic", "bASIC", 1))
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
			"Private-Token": basic("user:" + token),
			"X-Auth-Token":  strings.Replace(basic(token+":x"), "Basic", "bASIC", 1),
			"X-Api-Key":     token + "|a " + token + " b second" + token,
			"X-Other":       other,
			"X-Missing":     policy.Placeholder("MISSING"),
			"X-Part":        "mcp-jail-secret-T and mcp-jail-secret-TT-placeholder",
			"X-Base64":      base64.StdEncoding.EncodeToString([]byte(hold)),
		}
		if kind == "http" {
			want["Authorization"], want["Private-Token"] = "Bearer "+hold, basic("user:"+hold)
			delete(want, "X-Auth-Token")
			delete(want, "X-Api-Key")
		}
		for name, value := range want {
			if v := strings.Join(got.Values(name), "|"); v != value {
				t.Errorf("%s: %q, not %q", name, v, value)
			}
		}
		if rest != "/x?key="+hold+" "+hold {
			t.Errorf("target and body: %s", rest)
		}
		// Another rule allows it: no secret.
		send("/plain/x")
		if v := got.Get("Authorization"); v != "Bearer "+hold {
			t.Errorf("a rule without the secret: %s", v)
		}
	})
}

// TestSecretFields: a secret is put in the fields of its rule, and a request that has its
// placeholder elsewhere goes no further, which says what to write.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	hold, other := policy.Placeholder("T"), policy.Placeholder("U")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+hold))
	usual := withSecret("T", "U")
	named := withSecret("T", "U")
	named.Secrets[0].Header, named.Secrets[0].Where = []string{"x-custom", "Cookie"}, "mcp-jail.toml:9"
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var got http.Header
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { got = r.Header })
		for _, c := range []struct {
			rule         policy.NetRule
			field, value string
			refused      string
		}{
			{usual, "Authorization", hold, ""},
			{usual, "x-api-key", hold, ""},
			{usual, "User-Agent", hold, `header = "User-Agent"`},
			{usual, "X-Custom", "a " + hold, `its header field X-Custom has the placeholder of the secret T, which is put in the fields for credentials (Authorization, X-Api-Key and the like) only: if the value belongs there, write header = "X-Custom" beside env`},
			{usual, "X-Custom", basic, "X-Custom"},
			{usual, "Cookie", "session=" + hold, "Cookie"},
			{usual, "X_api_key", hold, "X_api_key"},
			{usual, "Idempotency-Key", hold, "Idempotency-Key"},
			{usual, "Referer", "https://x/?t=" + other, "the secret U"},
			{named, "X-Custom", hold, ""},
			{named, "Cookie", "session=" + hold, ""},
			{named, "Authorization", "Bearer " + hold, `is put in x-custom, Cookie only: if the value belongs there, write header = "Authorization" beside env (mcp-jail.toml:9)`},
			{named, "Authorization", "Bearer " + other, ""},
			{named, "X-Custom", other, "the secret U"},
		} {
			got = nil
			w := newWorld(t, s, Options{Rules: []policy.NetRule{c.rule}, Secrets: map[string]string{"T": token, "U": "second"}})
			res, body := do(t, w.client(t, http2), "GET", w.url("/x"), func(r *http.Request) { r.Header[http.CanonicalHeaderKey(c.field)] = []string{c.value} })
			value := strings.NewReplacer(hold, token, other, "second").Replace(c.value)
			switch {
			case kind == "http": // no secret goes in the open, so nothing is out of place
				if res.StatusCode != 200 || got.Get(c.field) != c.value {
					t.Errorf("%s, in the open: %d, %q", c.field, res.StatusCode, got.Get(c.field))
				}
			case c.refused != "":
				if res.StatusCode != 403 || got != nil || !strings.Contains(body, c.refused) || strings.Contains(body, token) || !contains(w.denied(), policy.DeniedSecret, c.refused) {
					t.Errorf("%s: %d %q, upstream %v", c.field, res.StatusCode, body, got)
				}
			case res.StatusCode != 200 || got.Get(c.field) != value:
				t.Errorf("%s: %d %q, %q", c.field, res.StatusCode, body, got.Get(c.field))
			}
		}
	})
}

// TestSecretDropsHostFields: what tells a host of another one does not travel with a secret. The
// control: without one it passes.
func TestSecretDropsHostFields(t *testing.T) {
	t.Parallel()
	fields := []string{
		"X-Forwarded-Host", "X-Forwarded-Server", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Original-Host", "X-Host", "X-Http-Host-Override",
		"X-Original-Url", "X-Rewrite-Url", "X_Forwarded_Host", "x.forwarded.host", "X-Forwarded-Anything",
	}
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var got http.Header
		var behind http.Header
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			got, behind = r.Header, r.Trailer
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": token}})
		c := w.client(t, http2)
		for _, authorization := range []string{policy.Placeholder("T"), "another"} {
			do(t, c, "POST", w.url("/x"), func(r *http.Request) {
				r.Header.Set("Authorization", authorization)
				r.Header.Set("X-Other", "x")
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("abc")), -1
				r.Trailer = http.Header{"X-Forwarded-Host": {"evil.example"}, "X-Sum": {"42"}}
				for _, f := range fields {
					r.Header[http.CanonicalHeaderKey(f)] = []string{"evil.example"}
				}
			})
			travels := kind == "http" || authorization == "another"
			if _, ok := behind["X-Forwarded-Host"]; ok != travels || behind.Get("X-Sum") != "42" {
				t.Errorf("behind the body, with %q: %v", authorization, behind)
			}
			for _, f := range append(fields, "X-Other") {
				if _, ok := got[http.CanonicalHeaderKey(f)]; ok != (travels || f == "X-Other") {
					t.Errorf("%s with %q: %v", f, authorization, ok)
				}
			}
		}
		// Nor does a second resource elsewhere.
		if kind == "http" {
			return
		}
		for destination, status := range map[string]int{"https://evil.example/x": 403, "/y": 200} {
			res, body := do(t, c, "COPY", w.url("/x"), func(r *http.Request) {
				r.Header.Set("Authorization", policy.Placeholder("T"))
				r.Header.Set("Destination", destination)
			})
			if res.StatusCode != status {
				t.Errorf("to %s: %d %s", destination, res.StatusCode, body)
			}
		}
	})
}

// TestSecretValues: a value that could be more than the value of a field is refused,
// and not shown.
func TestSecretValues(t *testing.T) {
	t.Parallel()
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
