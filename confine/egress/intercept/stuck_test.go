package intercept

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStuckUpstream: an upstream that breaks the rules of HTTP/2 may have its
// connection stuck, as Go's client is by a window that overflows. That of the jail ends
// when the jail ends it, all the same.
func TestStuckUpstream(t *testing.T) {
	s := serve(t, "h2", func(http.ResponseWriter, *http.Request) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	waitFor(t, "the end of the connection", func() bool {
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
