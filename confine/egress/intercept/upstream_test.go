package intercept

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSentLimitShared: many connections together send no more than the limit and what each
// may keep to itself.
func TestSentLimitShared(t *testing.T) {
	t.Parallel()
	const limit, connections, size, step = 1 << 20, 60, 240 << 10, 512
	for _, kind := range []string{"http", "https", "h2"} {
		var received atomic.Int64
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			received.Add(n)
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		w.most.Store(limit)
		w.step = step
		post := func(c *http.Client) error { // which keeps its connection to the end
			res, err := c.Post(w.url("/"), "text/plain", bytes.NewReader(make([]byte, size)))
			if err == nil {
				res.Body.Close()
			}
			return err
		}
		if err := post(w.client(t, kind == "h2")); err != nil {
			t.Errorf("control, %s: %v", kind, err)
		}
		var all sync.WaitGroup
		for range connections - 1 {
			c := w.client(t, kind == "h2")
			all.Go(func() { post(c) })
		}
		all.Wait()
		w.Close()
		s.Close() // so that all has been received
		if n := received.Load(); n > limit+connections*step {
			t.Errorf("%s: %d bytes arrived", kind, n)
		}
	}
}

// TestStuckUpstream: an upstream that breaks the rules of HTTP/2 may have its
// connection stuck, as Go's client is by a window that overflows. That of the jail ends
// when the jail ends it, all the same.
func TestStuckUpstream(t *testing.T) {
	t.Parallel()
	s := serve(t, "h2", func(http.ResponseWriter, *http.Request) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
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
			t.Errorf("%q", line)
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

// TestRapidReset: streams that are begun and reset by the thousand end the
// connection, or cost no more than those that are open; others are served.
func TestRapidReset(t *testing.T) {
	t.Parallel()
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
	testkit.Must(t, err)
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{ServerName: host, RootCAs: w.pool(), NextProtos: []string{"h2"}})
	testkit.Must(t, conn.Handshake())
	conn.SetDeadline(time.Now().Add(testkit.Patience))
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
