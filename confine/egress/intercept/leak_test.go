package intercept

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

const (
	given = "gr4nted-V4lue/of+a&variable" // a variable's
	held  = "h3ld-V4lue-of-a-secret"      // what only requests get
)

// inPieces is a body that comes in pieces.
type inPieces struct{ pieces []string }

func (b *inPieces) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	time.Sleep(5 * time.Millisecond)
	n := copy(p, b.pieces[0])
	b.pieces = b.pieces[1:]
	return n, nil
}

// TestLeaks: a secret of the jail in a request is told, or the request is refused. In the fields for
// credentials it is meant for every host. The value of a secret that only requests get is not looked
// for, since a jail could learn it from the answer.
func TestLeaks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var mu sync.Mutex
		var got string
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			got = r.RequestURI + fmt.Sprint(r.Header) + string(body)
			if err != nil {
				got += " cut short"
			}
		})
		for _, block := range []bool{false, true} {
			for _, c := range []struct {
				name, place string // place "": it is meant
				rule        policy.NetRule
				edit        func(*http.Request)
			}{
				{"nothing", "", only("POST"), func(*http.Request) {}},
				{"URL", "the URL", only("POST"), func(r *http.Request) { r.URL.RawQuery = "k=" + url.QueryEscape(given) }},
				{"path", "the URL", only("POST"), func(r *http.Request) { r.URL.Path = "/" + base64.RawURLEncoding.EncodeToString([]byte(given)) }},
				{"credential", "", only("POST"), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+given) }},
				{"cookie", "", only("POST"), func(r *http.Request) { r.Header.Set("Cookie", "s="+given) }},
				{"other field", "a header field", only("POST"), func(r *http.Request) { r.Header.Set("X-Trace", given) }},
				{"body", "the body", only("POST"), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"x":"` + given + `"}`)) }},
				{"body in pieces", "the body", only("POST"), func(r *http.Request) {
					r.Body = io.NopCloser(&inPieces{[]string{"a=1&k=", given[:9], given[9:20], given[20:] + "&", "z=2"}})
				}},
				{"field name", "a header field", only("POST"), func(r *http.Request) { r.Header["x-"+hex.EncodeToString([]byte(given))] = []string{"1"} }},
				{"held elsewhere", "", only("POST"), func(r *http.Request) { r.Header.Set("X-Trace", held) }},
				{"held at its host", "", withSecret("HELD"), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+held) }},
			} {
				w := newWorld(t, s, Options{Rules: []policy.NetRule{c.rule}, Secrets: map[string]string{"HELD": held}})
				w.setLeaks(egress.Leaks{Secrets: []leak.Secret{{Name: "GIVEN", Value: given}}, Block: block})
				got = ""
				client := w.client(t, http2)
				var status int
				var answer string
				for range 2 {
					r, body := do(t, client, "POST", w.url("/x"), c.edit)
					status, answer = r.StatusCode, body
				}
				w.mu.Lock()
				leaked := slices.Clone(w.leaked)
				w.mu.Unlock()
				denials := w.denied()
				mu.Lock()
				seen := got
				mu.Unlock()
				name := fmt.Sprint(c.name, ", block ", block)
				if strings.Contains(answer+fmt.Sprint(denials, leaked), given) || strings.Contains(answer+fmt.Sprint(denials, leaked), held) {
					t.Errorf("%s: the value is shown: %s %v", name, answer, denials)
				}
				switch {
				case c.place == "" || !block:
					if status != 200 || len(denials) > 0 || len(leaked) != min(1, len(c.place)) || len(leaked) == 1 && string(leaked[0].Place) != c.place || leaked != nil && leaked[0].Host != host {
						t.Errorf("%s: %d, told %v, denied %v", name, status, leaked, denials)
					}
				case status != 403 || !contains(denials, policy.DeniedLeak, c.place+" has the value of ") || leaked != nil || strings.Contains(seen, given) || !strings.Contains(answer, `leaks is "block"`):
					t.Errorf("%s: %d %q, denied %v, the host got %q", name, status, answer, denials, seen)
				}
			}
		}
	})
}
