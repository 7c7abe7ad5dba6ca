package egress

import (
	"fmt"
	"net"
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
	names := testkit.Get(os.ReadDir("/proc/self/fd"))(t)
	return len(names)
}

// TestManyConnections relays thousands of connections, 200 at once: HTTP, the first bytes of
// TLS, and neither. None fails, and no descriptor or goroutine is left.
func TestManyConnections(t *testing.T) {
	const atOnce = 200
	total := testkit.Rounds(600, 10_000)
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
					testkit.Equal(t, "", testkit.Get(exchange(t, c.(*net.TCPConn), send))(t), send)
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
