package intercept

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSmuggling: a request that two readers could take for different ones reaches
// nobody, nor does what is hidden behind it.
func TestSmuggling(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct{ name, text, want string }{
		{"control", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "200 OK"},
		{"control, chunked", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "200 OK"},
		{"both lengths", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"both lengths, the other way", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"in the second of two requests", "GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\nPOST /b HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"behind a body", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 4\r\n\r\n\r\n\r\nPOST /b HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"a blank line before the first", "\r\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a blank line behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\n\r\nabc\r\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"two blank lines behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"two blank lines that hide both lengths", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n\r\n\r\nPOST /b HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"blank lines of line feeds behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n\n\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"a carriage return behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n\rGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "403 Forbidden"},
		{"a space before it", " GET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a space behind a POST", "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n GET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a blank line behind a GET", "GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"two spaces in its line", "GET  /b HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a space in its target", "GET /b x HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a field without a name", "GET /b HTTP/1.1\r\nHost: api.example.com\r\n: x\r\n\r\n", "400 Bad Request"},
		{"a folded first field", "GET /b HTTP/1.1\r\n Host: api.example.com\r\n\r\n", "400 Bad Request"},
		{"a null in a name", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding\x00: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"},
		{"a folded encoding", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden, "403 Forbidden"},
		{"an encoding in another script's space", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: \xa0chunked\r\n\r\n0\r\n\r\n" + hidden, "501"},
		{"an encoding that some read as one", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer_Encoding: chunked\r\n\r\n" + hidden, "403 Forbidden"},
		{"a length that some read as one", "POST /b HTTP/1.1\r\nHost: api.example.com\r\nContent_Length: 50\r\n\r\n" + hidden, "403 Forbidden"},
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
		{"upgrade to two things", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n", "403 Forbidden"},
		{"HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "4"},
		{"a line break in a field", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX: a\rb\r\n\r\n", "400 Bad Request"},
		{"a null in a field", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX: a\x00b\r\n\r\n", "400 Bad Request"},
		{"a huge header", "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX: " + big + "\r\n\r\n", "431"},
		{"a huge target", "GET /a?" + big + " HTTP/1.1\r\nHost: api.example.com\r\n\r\n", "431"},
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

// TestHandshake: a handshake that names another host, or none, fails; the upstream
// is not even dialled.
func TestHandshake(t *testing.T) {
	s := serve(t, "h2", func(w http.ResponseWriter, r *http.Request) {})
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
	for _, c := range []struct{ name, why string }{
		{"", "names no host"}, {"other.example.com", "other.example.com"}, {host + ".evil.com", "evil"}, {"example.com", "names example.com"},
	} {
		conn, err := net.Dial("tcp", w.gate.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		err = tls.Client(conn, &tls.Config{ServerName: c.name, InsecureSkipVerify: true}).Handshake()
		conn.Close()
		if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%q: %v", c.name, err)
		}
		if !contains(w.denied(), policy.DeniedWrongName, c.why) {
			t.Errorf("%q: no denial", c.name)
		}
	}
	if n := w.dials.Load(); n != 0 {
		t.Errorf("%d connections to the upstream", n)
	}
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
	for _, c := range []struct {
		kind   string
		offers []string
		want   string
	}{
		{"h2", []string{"h2", "http/1.1"}, "h2"},
		{"h2", []string{"http/1.1"}, "http/1.1"},
		{"h2", nil, ""},
		{"https", []string{"h2", "http/1.1"}, "http/1.1"},
		{"https", nil, ""},
		{"https", []string{"h2"}, "error"},
		{"h2", []string{"dot"}, "error"},
	} {
		s := serve(t, c.kind, func(w http.ResponseWriter, r *http.Request) {})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
		conn, err := net.Dial("tcp", w.gate.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
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
			{"another authority", func(w *world) { w.roots = w.pool() }, "unknown authority"},
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

// TestHostileUpstream: what an upstream should not say harms only its own connection.
func TestHostileUpstream(t *testing.T) {
	const good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, c := range []struct {
		name, answer string
		passes       bool
	}{
		{"control", good, true},
		{"a switch that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", false},
		{"answers before the answer", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 1<<10)+"\r\n\r\n", 4<<10) + good, true},
		{"a huge header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", false},
		{"no HTTP", strings.Repeat("x", 1<<20), false},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokx", false},
		{"a second answer that nobody asked for", good + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", true},
		{"a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false},
	} {
		first := true
		addr := scripted(t, func(_ string, conn net.Conn) {
			if !first {
				io.WriteString(conn, good)
				return
			}
			first = false
			io.WriteString(conn, c.answer)
		})
		w := newWorldAt(t, addr, false, Options{Rules: []policy.NetRule{only("GET")}})
		client := w.client(t, false)
		res, err := client.Get(w.url("/"))
		var body []byte
		if err == nil {
			body, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		if (err == nil) != c.passes || c.passes && string(body) != "ok" {
			t.Errorf("%s: %q, %v", c.name, body, err)
		}
		// The next request is answered with its own answer.
		if _, body := do(t, client, "GET", w.url("/"), nil); body != "ok" {
			t.Errorf("%s: then %q", c.name, body)
		}
	}
}

// TestEndless: a body that is refused or abandoned, and one that never comes, hold
// nothing up.
func TestEndless(t *testing.T) {
	s := serve(t, "http", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
	for _, text := range []string{
		"PUT / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 100\r\n\r\n", // refused: answered without its body
		"PUT / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		c := w.connect(t)
		io.WriteString(c, text)
		if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "403") {
			t.Errorf("%q", line)
		}
		c.Close()
	}
	c := w.connect(t)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 100\r\n\r\n")
	waitFor(t, "the request", func() bool { return w.dials.Load() == 1 })
	c.Close()
	waitFor(t, "the end of all connections", func() bool {
		w.Interceptor.mu.Lock()
		defer w.Interceptor.mu.Unlock()
		return len(w.conns) == 0
	})
}

// TestRapidReset: streams that are begun and reset by the thousand end the
// connection, or cost no more than those that are open; others are served.
func TestRapidReset(t *testing.T) {
	var open, most atomic.Int32
	s := serve(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			return
		}
		n := open.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer open.Add(-1)
		<-r.Context().Done()
	})
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
	raw, err := net.Dial("tcp", w.gate.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{ServerName: host, RootCAs: w.pool(), NextProtos: []string{"h2"}})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	go io.Copy(io.Discard, conn)
	io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, nil)
	framer.WriteSettings()
	var block strings.Builder
	enc := hpack.NewEncoder(&block)
	sent := 0
	for id := uint32(1); id < 40000; id += 2 {
		block.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", host}, {":path", fmt.Sprint("/", id)}} {
			enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(block.String()), EndStream: true, EndHeaders: true})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if err != nil {
			break // the connection was ended
		}
		sent++
	}
	if most.Load() > maxStreams {
		t.Errorf("%d requests at once at the upstream", most.Load())
	}
	if res, _ := do(t, w.client(t, true), "GET", w.url("/good"), nil); res.StatusCode != 200 {
		t.Errorf("another connection: %s", res.Status)
	}
	t.Logf("%d streams were sent, at most %d open at the upstream", sent, most.Load())
}
