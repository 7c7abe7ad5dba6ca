package intercept

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSmuggling: no host gets a request that two readers could take for different ones, or the
// request that is hidden after it.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	const hidden = "GET /hidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct{ name, text, want string }{
		{"control", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "200 OK"},
		{"control, chunked", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "200 OK"},
		{"both lengths", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"in the second of two requests", "GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\nPOST /b HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"a blank line before the first", "\r\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a blank line behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\n\r\nabc\r\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"two blank lines that hide both lengths", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n\r\n\r\nPOST /b HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"a carriage return behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n\rGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"a space before it", " GET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"two spaces in its line", "GET  /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a field without a name", "GET /b HTTP/1.1\r\nHost: api.example.com\r\n: x\r\n\r\n", "400 Bad Request"},
		{"a folded first field", "GET /b HTTP/1.1\r\n Host: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a null in a name", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding\x00: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"},
		{"a folded encoding", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"an encoding in another script's space", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: \xa0chunked\r\n\r\n0\r\n\r\n" + hidden, "501"},
		{"an encoding that some read as one", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer_Encoding: chunked\r\n\r\n" + hidden, "403 Forbidden"},
		{"behind a chunked body", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "Connection: close"},
		{"two lengths", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n" + hidden, "400 Bad Request"},
		{"another encoding", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden, "501"},
		{"a space before the colon", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length : 50\r\n\r\n" + hidden, "400 Bad Request"},
		{"HTTP/1.0 chunked", "POST /a HTTP/1.0\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"line feeds alone", "GET /a HTTP/1.1\nHost: api.example.com\r\nX: y\nZ: w\r\n\r\n" + hidden, "403 Forbidden"},
		{"a line continued", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX: y\r\n z: w\r\n\r\n" + hidden, "403 Forbidden"},
		{"two hosts", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nHost: other\r\n\r\n" + hidden, "400 Bad Request"},
		{"no host", "GET /a HTTP/1.0\r\n\r\n" + hidden, "421"},
		{"absolute target", "GET http://api.example.com/a HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"absolute target elsewhere", "GET http://other.example.com/a HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "421"},
		{"CONNECT", "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n", "4"},
		{"all of the server", "OPTIONS * HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"no path", "GET a HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"upgrade to HTTP/2", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", "403 Forbidden"},
		{"HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "4"},
		{"a line break in a field", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX: a\rb\r\n\r\n", "400 Bad Request"},
		{"a huge header", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX: " + big + "\r\n\r\n", "431"},
	} {
		for _, kind := range []string{"http", "https"} {
			var paths atomic.Value
			paths.Store("")
			s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				paths.Store(paths.Load().(string) + r.URL.Path)
			})
			w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET", "POST", "OPTIONS")}})
			got := w.raw(t, c.text)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, %s: %q", c.name, kind, got)
			}
			seen := paths.Load().(string)
			if strings.Contains(seen, "hidden") || strings.Contains(seen, "/b") {
				t.Errorf("%s, %s: the upstream saw %s", c.name, kind, seen)
			}
			if strings.HasPrefix(c.name, "control") && seen != "/a" {
				t.Errorf("%s, %s: the upstream saw %q", c.name, kind, seen)
			}
		}
	}
}
