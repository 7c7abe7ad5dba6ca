package intercept

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestForwardedBytes: requests and answers pass with nothing added and nothing taken away.
func TestForwardedBytes(t *testing.T) {
	t.Parallel()
	fill := strings.NewReplacer("$GET", "GET / HTTP/1.1\r\nHost: api.example.com\r\n")
	for _, row := range testkit.Rows(t, "forwarded.txt", 4) {
		name, request := row[0], fill.Replace(row[1])
		want, answer := cmp.Or(fill.Replace(row[2]), request), cmp.Or(row[3], "HTTP/1.1 204 No Content\r\n\r\n")
		seen := make(chan string, 1)
		addr := scripted(t, func(request string, conn net.Conn) { seen <- request; io.WriteString(conn, answer); conn.Close() })
		w := newWorldAt(t, addr, false, Options{Rules: []policy.NetRule{withSecret("T")}})
		// With this field the connection ends with the answer. It goes no further, and the answer gets it.
		got := strings.Replace(w.raw(t, strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)), "Connection: close\r\n", "", 1)
		testkit.Equal(t, name, sorted(<-seen), sorted(want))
		testkit.Equal(t, fmt.Sprintf("%s: the client got\n%q, not\n%q", name, got, answer), sorted(got), sorted(answer))
	}
}

// TestWebSocket: an upgrade passes in both directions, with its secret, and its end.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"http", "https", "h2"} {
		over := make(chan struct{})
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || kind != "http" && r.Header.Get("Authorization") != "Bearer "+token {
				t.Errorf("%s: %v", kind, r.Header)
			}
			c, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				return
			}
			defer c.Close()
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n")
			io.Copy(c, buf)
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": token}})
		c := w.connect(t)
		io.WriteString(c, "GET /ws HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nAuthorization: Bearer "+policy.Placeholder("T")+"\r\n\r\n")
		r := bufio.NewReader(c)
		if line, err := textproto.NewReader(r).ReadLine(); err != nil || !strings.Contains(line, " 101 ") {
			t.Fatalf("%s: %q %v", kind, line, err)
		}
		testkit.MustEqual(t, kind, testkit.Get(textproto.NewReader(r).ReadMIMEHeader())(t).Get("Sec-Websocket-Accept"), "x")
		for _, text := range []string{"ping", "POST /other HTTP/1.1\r\n\r\n", strings.Repeat("x", 1<<20)} {
			go io.WriteString(c, text)
			got := make([]byte, len(text))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
				t.Fatalf("%s: %v", kind, err)
			}
		}
		c.Close()
		<-over
	}
}

// TestTrailersAndHints: what comes before and after an answer passes too.
func TestTrailersAndHints(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>")
			w.WriteHeader(103)
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "body "+r.Header.Get("Te"))
			w.Header().Set("X-Sum", "42")
			w.Header().Set(http.TrailerPrefix+"X-Late", "43")
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
		hints := 0
		res, body := do(t, w.client(t, http2), "GET", w.url("/"), func(r *http.Request) {
			r.Header.Set("Te", "trailers")
			*r = *r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					if code == 103 && h.Get("Link") == "</style.css>" {
						hints++
					}
					return nil
				},
			}))
		})
		if body != "body trailers" || res.Trailer.Get("X-Sum") != "42" || res.Trailer.Get("X-Late") != "43" || hints != 1 {
			t.Errorf("%q, %v, %d hints", body, res.Trailer, hints)
		}
	})
}

// TestKeepAlive: requests of one connection use one connection to the upstream, and another one after its end.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, r.RemoteAddr)
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET", "POST")}})
		c := w.client(t, http2)
		// Without this limit, Go's client may dial again at a second request: it hands out a new HTTP/2
		// connection before it shares it.
		c.Transport.(*http.Transport).MaxConnsPerHost = 1
		_, last := do(t, c, "GET", w.url("/"), nil)
		for range 5 {
			_, last = do(t, c, "POST", w.url("/"), func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("12345")), 5
			})
		}
		// On a busy machine, Go's client may give up a connection that answered before it saw all of the request.
		if n := w.dials.Load(); n > 2 {
			t.Errorf("%d connections to the upstream for six requests", n)
		}
		s.CloseClientConnections()
		testkit.Eventually(t, "an answer by another connection", func() bool {
			res, err := c.Get(w.url("/"))
			if err != nil {
				return false // the client had not read the end of its own connection yet
			}
			again, err := io.ReadAll(res.Body)
			res.Body.Close()
			if string(again) == last {
				t.Error("the connection that had ended was used")
			}
			return err == nil
		})
	})
}

// TestUnreachable: an upstream that cannot be reached or ends early looks like that.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed.Close()
	broken := scripted(t, func(_ string, c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le"); c.Close() })
	short := scripted(t, func(_ string, c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
		c.Close()
	})
	for _, c := range []struct {
		name     string
		upstream net.Addr
		secure   bool
	}{
		{"nobody there", closed.Addr(), false},
		{"nobody there, TLS", closed.Addr(), true},
		{"half a header", broken, false},
		{"half a body", short, false},
	} {
		w := newWorldAt(t, c.upstream, c.secure, Options{Rules: []policy.NetRule{only("GET")}})
		res, err := w.client(t, false).Get(w.url("/"))
		if err == nil {
			_, err = io.ReadAll(res.Body)
		}
		testkit.Fails(t, c.name, err, "")
		if d := w.denied(); d != nil {
			t.Errorf("%s: a failure became a denial: %v", c.name, d)
		}
	}
}

// sorted brings the lines of a message into one order: that of fields with different
// names means nothing (RFC 9110, 5.3).
func sorted(message string) string {
	head, body, _ := strings.Cut(message, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	for i := range lines[1:] {
		for j := i + 1; j > 1 && strings.Split(lines[j], ":")[0] < strings.Split(lines[j-1], ":")[0]; j-- {
			lines[j], lines[j-1] = lines[j-1], lines[j]
		}
	}
	if strings.HasPrefix(body, "HTTP/") {
		body = sorted(body)
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}
