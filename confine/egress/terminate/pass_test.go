package terminate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// scripted is an upstream that keeps the bytes of each request up to the end of its
// header, and answers with the bytes of the function.
func scripted(t *testing.T, answer func(request string, c net.Conn)) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				var head strings.Builder
				for {
					line, err := r.ReadString('\n')
					head.WriteString(line)
					if err != nil {
						return
					}
					if line == "\r\n" {
						answer(head.String(), c)
						head.Reset()
					}
				}
			}()
		}
	}()
	return l.Addr()
}

// TestBytes: requests and answers pass with nothing added and nothing taken away.
func TestBytes(t *testing.T) {
	for _, c := range []struct{ name, request, want, answer, wantAnswer string }{
		{name: "bare", request: "GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\n"},
		{name: "fields", request: "GET /a%20b%2Fc?q=%zz;&x=[1] HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: t\r\nAccept: */*\r\nAccept-Encoding: br\r\nForwarded: for=x\r\nX-Forwarded-For: 1.2.3.4\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n"},
		{name: "empty query", request: "GET /a? HTTP/1.1\r\nHost: api.example.com\r\n\r\n"},
		{name: "two slashes", request: "GET //a//b HTTP/1.1\r\nHost: api.example.com\r\n\r\n"},
		{
			name: "hop by hop", request: "GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: keep-alive, X-Mine\r\nKeep-Alive: 5\r\nX-Mine: 1\r\nProxy-Authorization: x\r\n\r\n",
			want: "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
		},
		{name: "no date, no type", request: "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", answer: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-A: b\r\n\r\n<html>"},
		{name: "redirect", request: "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", answer: "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://elsewhere.example/\r\n\r\n"},
		{name: "error", request: "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", answer: "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1\r\nRetry-After: 1\r\n\r\nx"},
		{name: "not modified", request: "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", answer: "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n"},
		{name: "early hints", request: "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", answer: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"},
	} {
		seen := make(chan string, 1)
		if c.answer == "" {
			c.answer = "HTTP/1.1 204 No Content\r\n\r\n"
		}
		addr := scripted(t, func(request string, conn net.Conn) { seen <- request; io.WriteString(conn, c.answer); conn.Close() })
		w := newWorldAt(t, addr, false, Options{Rules: []policy.NetRule{withSecret("T")}})
		got := w.raw(t, c.request)
		if c.want == "" {
			c.want = c.request
		}
		if r := <-seen; sorted(r) != sorted(c.want) {
			t.Errorf("%s: the upstream saw\n%q, not\n%q", c.name, r, c.want)
		}
		if sorted(got) != sorted(c.answer) {
			t.Errorf("%s: the client got\n%q, not\n%q", c.name, got, c.answer)
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

// TestStream: each piece of an answer arrives when it is sent, and an end on one side
// is one on the other.
func TestStream(t *testing.T) {
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		next, over := make(chan string), make(chan struct{})
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Content-Length", "1000") // nothing by which net/http would know a stream
			w.WriteHeader(200)
			http.NewResponseController(w).Flush()
			for {
				select {
				case text := <-next:
					fmt.Fprintf(w, "data: %s\n\n", text)
					http.NewResponseController(w).Flush()
				case <-r.Context().Done():
					return
				}
			}
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", w.url("/events"), nil)
		res, err := w.client(t, http2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		for _, text := range []string{"one", "two", "three"} {
			next <- text // the one before has arrived
			line, err := lines.ReadString('\n')
			if err != nil || line != "data: "+text+"\n" {
				t.Fatalf("%q, %v", line, err)
			}
			lines.ReadString('\n')
		}
		cancel()
		<-over
	})
}

// TestUpload: a large body arrives whole, whether its length is known or not, and its
// bytes are counted.
func TestUpload(t *testing.T) {
	const size = 50 << 20
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	sum := sha256.Sum256(body)
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			h := sha256.New()
			n, err := io.Copy(h, r.Body)
			fmt.Fprintf(w, "%d %v %x %v", n, err, h.Sum(nil), r.Trailer.Get("X-After"))
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("PUT")}})
		c := w.client(t, http2)
		for _, known := range []bool{true, false, true} {
			want := fmt.Sprintf("%d <nil> %x ", size, sum)
			res, got := do(t, c, "PUT", w.url("/"), func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), size
				r.Header.Set("Expect", "100-continue")
				if !known {
					r.ContentLength = -1
					r.Trailer = http.Header{"X-After": {"the end"}}
					want += "the end"
				}
			})
			if res.StatusCode != 200 || got != want {
				t.Fatalf("known %v: %d %s, not %s", known, res.StatusCode, got, want)
			}
		}
		c.CloseIdleConnections()
		waitFor(t, "the count of what was sent", func() bool { return w.sent.Load() > 3*size && w.sent.Load() < 3*size+size/10 })
	})
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 2000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("never came: " + what)
}

// TestSentLimit: who has sent what the session may send is cut off.
func TestSentLimit(t *testing.T) {
	s := serve(t, "https", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("PUT")}})
	w.most.Store(1 << 20)
	r, _ := http.NewRequest("PUT", w.url("/"), bytes.NewReader(make([]byte, 10<<20)))
	if res, err := w.client(t, false).Do(r); err == nil {
		t.Errorf("an answer: %v", res.Status)
	}
	if n := w.sent.Load(); n > 2<<20 {
		t.Errorf("%d bytes were sent", n)
	}
	w.most.Store(0)
	r, _ = http.NewRequest("PUT", w.url("/"), bytes.NewReader(make([]byte, 10<<20)))
	if res, err := w.client(t, false).Do(r); err != nil || res.StatusCode != 200 {
		t.Errorf("control: %v", err)
	}
}

// TestWebSocket: an upgrade passes in both directions, with its secret, and its end.
func TestWebSocket(t *testing.T) {
	for _, kind := range []string{"http", "https", "h2"} {
		over := make(chan struct{})
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || kind != "http" && r.Header.Get("Authorization") != "Bearer "+token {
				t.Errorf("%s: %v", kind, r.Header)
			}
			c, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
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
		if h, err := textproto.NewReader(r).ReadMIMEHeader(); err != nil || h.Get("Sec-Websocket-Accept") != "x" {
			t.Fatalf("%s: %v %v", kind, h, err)
		}
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

// TestTrailersAndHints: what comes before and behind an answer passes too.
func TestTrailersAndHints(t *testing.T) {
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

// TestKeepAlive: requests of one connection use one connection to the upstream, and
// its end between two requests is the end of both.
func TestKeepAlive(t *testing.T) {
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, r.RemoteAddr)
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET", "POST")}})
		c := w.client(t, http2)
		_, first := do(t, c, "GET", w.url("/"), nil)
		for range 5 {
			_, again := do(t, c, "POST", w.url("/"), func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader("12345")), 5
			})
			if again != first {
				t.Errorf("another connection: %s, %s", first, again)
			}
		}
		if n := w.dials.Load(); n != 1 {
			t.Errorf("%d connections to the upstream", n)
		}
		s.CloseClientConnections()
		waitFor(t, "the end of the connection", func() bool {
			w.Terminator.mu.Lock()
			defer w.Terminator.mu.Unlock()
			return len(w.links) == 0
		})
		if _, again := do(t, c, "GET", w.url("/"), nil); again == first {
			t.Error("the connection that had ended was used")
		}
	})
}

// TestEarlyAnswer: an upstream that answers without having read the body costs at most
// its connection, not that of the jail.
func TestEarlyAnswer(t *testing.T) {
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "early") })
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		c := w.client(t, http2)
		for i := range 200 {
			_, body := do(t, c, "POST", w.url("/"), func(r *http.Request) {
				n := i % 20
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", n))), int64(n)
			})
			if body != "early" {
				t.Fatal(body)
			}
		}
	})
}

// TestLateBody: an answer does not wait for the rest of a body, and says that it is the
// last one on its connection.
func TestLateBody(t *testing.T) {
	for _, kind := range []string{"http", "https"} {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			io.WriteString(w, "early")
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		c := w.connect(t)
		c.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 10\r\n\r\n01")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if body, err := io.ReadAll(res.Body); string(body) != "early" || err != nil || !res.Close {
			t.Errorf("%s: %q %v, the last one: %v", kind, body, err, res.Close)
		}
		io.WriteString(c, "23456789")
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%s: then %d %v", kind, n, err)
		}
	}
}

// TestConversation: request and answer can be streams at the same time.
func TestConversation(t *testing.T) {
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			control.EnableFullDuplex()
			w.WriteHeader(200)
			control.Flush()
			buf := make([]byte, 100)
			for {
				n, err := r.Body.Read(buf)
				w.Write(buf[:n])
				control.Flush()
				if err != nil {
					return
				}
			}
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		out, in := io.Pipe()
		r, _ := http.NewRequest("POST", w.url("/"), out)
		res, err := w.client(t, http2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		for _, text := range []string{"one", "two", "three"} {
			io.WriteString(in, text)
			got := make([]byte, len(text))
			if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != text {
				t.Fatalf("%q %v", got, err)
			}
		}
		in.Close()
		if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
			t.Errorf("%q %v", rest, err)
		}
	})
}

// TestUnreachable: an upstream that cannot be reached or ends early looks like that.
func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
		if err == nil {
			t.Errorf("%s: %s", c.name, res.Status)
		}
		if d := w.denied(); d != nil {
			t.Errorf("%s: a failure became a denial: %v", c.name, d)
		}
	}
}
