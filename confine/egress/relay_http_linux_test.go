package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestSecondRequest(t *testing.T) {
	var got seen
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		io.WriteString(c, "HTTP/1.1 200 No\r\n\r\n")
		io.Copy(&got, c)
	})
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	to := resolve(t, g, "api.test").String() + ":80"
	good := "POST /a HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\n\r\nGET /"
	chunked := "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: api.test\r\n\r\n4\r\nabcd\r\n0\r\nT: 1\r\n\r\n"
	for _, first := range []string{good, chunked, get + "api.test\r\nUpgrade: websocket\r\n\r\n"} {
		before := len(got.String())
		c := client(t, g, to)
		io.WriteString(c, first)
		testkit.Eventually(t, "the first request", func() bool { return len(got.String()) == before+len(first) })
		io.WriteString(c, get+"evil.test\r\n\r\n")
		testkit.Is(t, fmt.Sprintf("%q", first), testkit.ErrorOf(io.ReadAll(c)), syscall.ECONNRESET)
		testkit.Eventually(t, "the refusal", func() bool { return len(g.Denials()) > 0 })
	}
	if s := got.String(); strings.Contains(s, "evil") {
		t.Errorf("the server got %q", s)
	}
	if d := onlyDenial(t, g); d.Reason != policy.DeniedWrongName || d.Count != 3 {
		t.Errorf("%+v", d)
	}
}

func TestWebSocket(t *testing.T) {
	const upgrade, yes, frames = get + "api.test\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 101 Yes\r\n\r\n", "\x81\x85mask" + get + "evil.test\r\n\r\n\x00\xff"
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		io.ReadFull(c, make([]byte, len(upgrade)))
		for _, b := range []byte(yes) { // in as many segments as it likes
			c.Write([]byte{b})
		}
		io.Copy(c, c)
	})
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	to := resolve(t, g, "api.test").String() + ":80"
	if got, err := exchange(t, client(t, g, to), upgrade+frames); got != yes+frames || err != nil {
		t.Errorf("%q, %v; %+v", got, err, g.Denials())
	}
	late := client(t, g, to)
	io.WriteString(late, get+"api.test\r\n\r\n"+upgrade)
	if _, err := io.ReadAll(late); !errors.Is(err, syscall.ECONNRESET) || onlyDenial(t, g).Reason != policy.DeniedAmbiguous {
		t.Errorf("behind another request: %v, %+v", err, g.Denials())
	}
}

// TestWebSocketUnanswered checks that a connection ends if its client gives up before the server
// responds.
func TestWebSocketUnanswered(t *testing.T) {
	ended := make(chan error, 2)
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		_, err := io.Copy(io.Discard, c)
		ended <- err
	})
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	at := resolve(t, g, "api.test").String()
	for _, reset := range []bool{false, true} {
		c := client(t, g, at+":80")
		io.WriteString(c, get+"api.test\r\nUpgrade: websocket\r\n\r\n")
		testkit.Eventually(t, "the connection", func() bool { return len(g.slots) == 1 })
		if reset {
			c.SetLinger(0)
		}
		c.Close()
		testkit.Eventually(t, "its end", func() bool { return len(g.slots) == 0 })
		testkit.Equal(t, "reset", (<-ended != nil), reset)
	}
}

// TestWebSocketEager checks that what a client sends before the response is forwarded after it.
func TestWebSocketEager(t *testing.T) {
	const upgrade, yes = get + "api.test\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 101 Yes\r\n\r\n"
	begun := make(chan struct{})
	listen(t, "198.51.100.7:80", func(c *net.TCPConn) {
		io.ReadFull(c, make([]byte, len(upgrade)))
		<-begun
		io.WriteString(c, yes)
		io.Copy(c, c)
	})
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
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
