package intercept

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestTrailers: of the fields behind a body those pass that the header has announced,
// and none that some server could take for another path or method.
func TestTrailers(t *testing.T) {
	const head = "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n"
	for _, c := range []struct{ name, announced, behind, want string }{
		{"control", "Trailer: X-Sum\r\n", "X-Sum: 42\r\n", "[X-Sum=42]"},
		{"not announced", "", "X-Sum: 42\r\n", "[]"},
		{"another one", "Trailer: X-Sum\r\n", "X-Sum: 42\r\nX-HTTP-Method-Override: DELETE\r\nHost: other\r\n", "[X-Sum=42]"},
		{"announced", "Trailer: X-HTTP-Method-Override\r\n", "X-HTTP-Method-Override: DELETE\r\n", "403 Forbidden"},
		{"a length", "Trailer: Content-Length\r\n", "Content-Length: 1\r\n", "400 Bad Request"},
	} {
		s := serve(t, "http", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			seen := []string{}
			for name, values := range r.Trailer {
				seen = append(seen, name+"="+strings.Join(values, ","))
			}
			slices.Sort(seen)
			fmt.Fprint(w, seen)
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		if got := w.raw(t, head+c.announced+"\r\n3\r\nabc\r\n0\r\n"+c.behind+"\r\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
