package intercept

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStuckUpstream: an upstream that breaks the rules of HTTP/2 may have its
// connection stuck, as Go's client is by a window that overflows. That of the jail ends
// when the jail ends it, all the same.
func TestStuckUpstream(t *testing.T) {
	t.Parallel()
	s := serve(t, "h2", func(http.ResponseWriter, *http.Request) {})
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	sent := make(chan struct{})
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c = tls.Server(c, &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2"}})
		io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
		const settings, headers, windowUpdate = 4, 1, 8
		c.Write(frame(settings, 0, nil))
		for kind := byte(0); kind != headers; {
			head := make([]byte, 9)
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			kind = head[3]
			io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)>>8))
		}
		c.Write(frame(windowUpdate, 1, []byte{0x7f, 0xff, 0xff, 0xff}))
		close(sent)
		io.Copy(io.Discard, c)
	}()
	w := newWorldAt(t, l.Addr(), true, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": token}, Roots: authorityOf(s)})
	c := w.client(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", w.url("/"), nil)
	go func() {
		<-sent
		time.Sleep(100 * time.Millisecond) // until it has been read
		cancel()
	}()
	if res, err := c.Do(r); err == nil {
		res.Body.Close()
	}
	testkit.Eventually(t, "the end of the connection", func() bool {
		c.CloseIdleConnections()
		w.Interceptor.mu.Lock()
		defer w.Interceptor.mu.Unlock()
		return len(w.conns) == 0
	})
}

// frame is one of HTTP/2 (RFC 9113, 4.1).
func frame(kind byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return append(binary.BigEndian.AppendUint32(append(b, 0), stream), payload...)
}

// TestHostileUpstream: what an upstream should not say harms only its own connection.
func TestHostileUpstream(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	s := serve(t, "http", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
	for _, text := range []string{
		"PUT / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 100\r\n\r\n", // refused: answered without its body
		"PUT / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		c := w.connect(t)
		io.WriteString(c, text)
		if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "403") {
			t.Errorf("%q: %q", text, line)
		}
		c.Close()
	}
	c := w.connect(t)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 100\r\n\r\n")
	testkit.Eventually(t, "the request", func() bool { return w.dials.Load() == 1 })
	c.Close()
	testkit.Eventually(t, "the end of all connections", func() bool {
		w.Interceptor.mu.Lock()
		defer w.Interceptor.mu.Unlock()
		return len(w.conns) == 0
	})
}
