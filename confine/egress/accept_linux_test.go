package egress

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCloseAcceptsPending checks that a connection which waits in the kernel's queue when the jail
// ends is served: its program has written and ended already.
func TestCloseAcceptsPending(t *testing.T) {
	got := make(chan int64, 1)
	listen(t, "198.51.100.7:1000", func(c *net.TCPConn) {
		c.SetDeadline(time.Now().Add(patience))
		n, _ := io.Copy(io.Discard, c)
		got <- n
	})
	g, _ := testGateway(t, map[string][]string{"x.test": {"198.51.100.7"}, "y.test": {"198.51.100.7"}}, allowPort("*.test", "tcp", 1000))
	g.life.limits.timeout = patience
	resolve(t, g, "x.test") // has the real address, so that y.test gets one of the loopback
	l := testkit.Get(net.Listen("tcp", net.JoinHostPort(resolve(t, g, "y.test").String(), "1000")))(t)
	g.listeners = append(g.listeners, l.(*net.TCPListener)) // without a loop, as if that were slow
	conn := testkit.Get(net.Dial("tcp", l.Addr().String()))(t)
	testkit.Must(t, testkit.ErrorOf(conn.Write(make([]byte, 100<<10))))
	conn.Close()
	g.Close()
	select {
	case n := <-got:
		testkit.Equal(t, "bytes came", n, 100<<10)
	case <-time.After(patience):
		t.Errorf("nothing came; denied: %+v", g.Denials())
	}
}
