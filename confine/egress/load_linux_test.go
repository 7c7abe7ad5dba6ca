package egress

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func descriptors(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	testkit.Must(t, err)
	return len(names)
}

// TestManyConnections relays thousands of connections, 200 at once: HTTP, the first bytes of
// TLS, and neither. None fails, and no descriptor or goroutine is left.
func TestManyConnections(t *testing.T) {
	const atOnce = 200
	total := 2000
	if testkit.Long() {
		total = 10_000
	}
	listen(t, "[2001:db8::7]:80", echo(""))
	g, _ := testGateway(t, map[string][]string{"six.test": {"2001:db8::7"}}, allow("six.test"))
	g.Serve(sockets(t, 80))
	to := fmt.Sprintf("%s:80", resolve(t, g, "six.test"))
	sends := []string{get + "six.test\r\n\r\n", string(hello(t, "six.test")), "neither\r\n"}
	var at atomic.Int64
	round := func(n int) {
		var running sync.WaitGroup
		end := at.Load() + int64(n)
		for range atOnce {
			running.Go(func() {
				for i := at.Add(1); i <= end; i = at.Add(1) {
					c, err := net.Dial("tcp", to)
					if err != nil {
						t.Error(err)
						return
					}
					c.SetDeadline(time.Now().Add(patience))
					send := sends[i%int64(len(sends))]
					if got, err := exchange(t, c.(*net.TCPConn), send); got != send || err != nil {
						t.Errorf("%q, %v", got, err)
					}
					c.Close()
				}
			})
		}
		running.Wait()
		at.Store(end)
		testkit.Eventually(t, "the ends", func() bool { return len(g.slots) == 0 })
		runtime.GC()
		runtime.GC()
	}
	round(total / 10)
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	round(total - total/10)
	testkit.Eventually(t, "descriptors and goroutines to go", func() bool {
		runtime.GC()
		return descriptors(t) <= fds+10 && runtime.NumGoroutine() <= goroutines+10
	})
	if d := g.Denials(); len(d) > 1 || len(d) == 1 && d[0].Reason != policy.DeniedLimit {
		t.Errorf("%+v", d)
	}
}

// benchWorld is a server and the two ways to it.
func benchWorld(b *testing.B, r rule) map[string]string {
	listen(b, "[2001:db8::7]:80", func(c *net.TCPConn) { io.Copy(c, c) })
	listen(b, "[2001:db8::7]:81", func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	r.Host = "six.test"
	second := r
	if r.Port == 80 {
		second.Port = 81
	}
	g, _ := testGateway(b, map[string][]string{"six.test": {"2001:db8::7"}}, r, second, rule{Host: "six.test", Port: 81, Allow: true, Scheme: r.Scheme})
	g.o.IsLocal = func(a netip.Addr) (bool, error) { _, err := isLocal(a); return false, err } // its cost
	g.Serve(sockets(b, 80, 81))
	return map[string]string{"direct": "[2001:db8::7]:", "jail": resolve(b, g, "six.test").String() + ":"}
}

func BenchmarkConnect(b *testing.B) {
	for name, send := range map[string]string{"tcp": "x", "http": get + "six.test\r\n\r\n"} {
		r := allow("")
		if name == "tcp" {
			r = allowPort("", "tcp", 80)
		}
		b.Run(name, func(b *testing.B) {
			for way, at := range benchWorld(b, r) {
				b.Run(way, func(b *testing.B) {
					one := make([]byte, 1)
					for b.Loop() {
						c, err := net.Dial("tcp", at+"80")
						testkit.Must(b, err)
						io.WriteString(c, send)
						if _, err := io.ReadFull(c, one); err != nil {
							b.Fatal(err)
						}
						reset(c.(*net.TCPConn))
					}
				})
			}
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for way, at := range benchWorld(b, allowPort("", "tcp", 80)) {
		b.Run(way, func(b *testing.B) {
			c, err := net.Dial("tcp", at+"80")
			testkit.Must(b, err)
			defer c.Close()
			one := make([]byte, 1)
			for b.Loop() {
				c.Write(one)
				if _, err := io.ReadFull(c, one); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for way, at := range benchWorld(b, allowPort("", "tcp", 80)) {
		b.Run(way, func(b *testing.B) {
			c, err := net.Dial("tcp", at+"81")
			testkit.Must(b, err)
			defer c.Close()
			block := make([]byte, 256<<10)
			b.SetBytes(int64(len(block)))
			for b.Loop() {
				if _, err := c.Write(block); err != nil {
					b.Fatal(err)
				}
			}
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		})
	}
}
