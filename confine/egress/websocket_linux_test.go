package egress

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestWebSocketUnanswered: a client that gives up while its server says nothing leaves
// nothing behind, however it does that.
func TestWebSocketUnanswered(t *testing.T) {
	ended := make(chan error, 2)
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		_, err := io.Copy(io.Discard, c)
		ended <- err
	})
	g, _ := gate(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	at := resolve(t, g, "api.test").String()
	for _, reset := range []bool{false, true} {
		c := client(t, g, at+":80")
		io.WriteString(c, get+"api.test\r\nUpgrade: websocket\r\n\r\n")
		waits(t, "the connection", func() bool { return len(g.slots) == 1 })
		if reset {
			c.SetLinger(0)
		}
		c.Close()
		waits(t, "its end", func() bool { return len(g.slots) == 0 })
		if err := <-ended; (err != nil) != reset {
			t.Errorf("reset %v: upstream saw %v", reset, err)
		}
	}
}

// TestWebSocketEager: what a client sends before the answer, and its end, come after it.
func TestWebSocketEager(t *testing.T) {
	const upgrade, yes = get + "api.test\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 101 Yes\r\n\r\n"
	begun := make(chan struct{})
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		io.ReadFull(c, make([]byte, len(upgrade)))
		<-begun
		io.WriteString(c, yes)
		io.Copy(c, c)
	})
	g, _ := gate(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	c := client(t, g, resolve(t, g, "api.test").String()+":80")
	frames := make([]byte, 2*maxHead)
	for i := range frames {
		frames[i] = byte(i % 251)
	}
	go func() {
		io.WriteString(c, upgrade)
		c.Write(frames[:100])
		close(begun)
		c.Write(frames[100:])
		c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, io.EOF) || string(got) != yes+string(frames) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(yes)+len(frames))
	}
}
