package egress

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDrainDelivers checks that everything a program sent before its end arrives, although the
// host begins to read later.
func TestDrainDelivers(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 8388608\r\n\r\n"
	for _, c := range []struct {
		name, at, head string
		size           int
		rule           policy.NetRule
	}{
		{"a byte", "198.51.100.7:1000", "", 1, allowPort("x.test", "tcp", 1000)},
		{"100 kB", "198.51.100.7:1000", "", 100 << 10, allowPort("x.test", "tcp", 1000)},
		{"8 MB", "198.51.100.7:1000", "", 8 << 20, allowPort("x.test", "tcp", 1000)},
		{"8 MB of HTTP", "198.51.100.7:80", post, 8 << 20, allow("x.test")},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin, got := make(chan struct{}), make(chan int64, 1)
			listen(t, c.at, func(c *net.TCPConn) {
				c.SetDeadline(time.Now().Add(patience))
				<-begin
				var n int64
				var err error
				for more := int64(1); more > 0 && err == nil; n += more { // with pauses
					more, err = io.Copy(io.Discard, io.LimitReader(c, 3<<20))
					time.Sleep(2 * defaultDrainLimits.idle)
				}
				testkit.Works(t, "", err)
				got <- n
			})
			g, _ := testGateway(t, map[string][]string{"x.test": {"198.51.100.7"}}, c.rule)
			g.life.limits.timeout = patience
			conn := client(t, g, resolve(t, g, "x.test").String()+c.at[strings.Index(c.at, ":"):])
			time.AfterFunc(2*defaultDrainLimits.idle, func() { close(begin) })
			testkit.Must(t, testkit.ErrorOf(conn.Write(append([]byte(c.head), make([]byte, c.size)...))))
			conn.Close()
			g.Close()
			testkit.Equal(t, fmt.Sprintf("of … bytes came; denied: %+v", g.Denials()), <-got, int64(len(c.head)+c.size))
		})
	}
}

// TestDrainEnds checks that Close returns early if there is nothing to drain, and returns at all
// if a client never stops sending. The time limit is an hour here.
func TestDrainEnds(t *testing.T) {
	deaf := func(c *net.TCPConn) { io.Copy(io.Discard, c) }
	for name, c := range map[string]struct {
		sends func(c *net.TCPConn)
		proxy string // never responds
	}{
		"the host is not reached, and nothing was sent": {func(c *net.TCPConn) { c.Close() }, "http://198.51.100.8:3128"},
		"somebody is left who sends nothing":            {func(*net.TCPConn) {}, ""},
		"somebody is left who goes on": {func(c *net.TCPConn) {
			go func() {
				for b := make([]byte, 1<<16); ; {
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			listen(t, "198.51.100.7:1000", deaf)
			listen(t, "198.51.100.8:3128", deaf)
			o := Options{Rules: []policy.NetRule{allowPort("x.test", "tcp", 1000), allow("x.test")}, Upstream: &fakeResolver{names: map[string][]string{"x.test": {"198.51.100.7"}}}}
			port := ":1000"
			if c.proxy != "" {
				port = ":443"
				o.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse(c.proxy) }
			}
			g := testGatewayWith(t, o)
			g.life.limits.timeout, g.life.limits.bytes = time.Hour, 1<<20
			conn := client(t, g, resolve(t, g, "x.test").String()+port)
			c.sends(conn)
			time.Sleep(50 * time.Millisecond)
			closed := make(chan struct{})
			go func() {
				g.Close()
				close(closed)
			}()
			select {
			case <-closed:
			case <-time.After(patience):
				t.Error("Close waits")
				g.life.cancel()
			}
		})
	}
}
