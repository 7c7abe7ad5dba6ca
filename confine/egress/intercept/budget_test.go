package intercept

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRequestMemory: connections that hold many requests with large headers get an answer for those
// above their share, and one that holds few is served meanwhile.
func TestRequestMemory(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var held atomic.Int32
	s := serve(t, "h2", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			held.Add(1)
			<-free
		}
	})
	w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
	const conns, each, header = 6, 60, 48 << 10
	big := func(r *http.Request) { r.Header.Set("X-Big", strings.Repeat("x", header)) }
	if res, body := do(t, w.client(t, true), "GET", w.url("/"), big); res.StatusCode != 200 {
		t.Fatalf("control: %d %s", res.StatusCode, body)
	}
	var refused, served atomic.Int32
	var running sync.WaitGroup
	for range conns {
		c := w.client(t, true)
		do(t, c, "GET", w.url("/"), nil) // one connection each
		for range each {
			running.Go(func() {
				switch res, body := do(t, c, "GET", w.url("/held"), big); res.StatusCode {
				case 200:
					served.Add(1)
				case 431:
					refused.Add(1)
				default:
					t.Errorf("%d %s", res.StatusCode, body)
				}
			})
		}
	}
	const most = requestMemory / (3 * header)
	testkit.Eventually(t, "the requests to be held or refused", func() bool { return held.Load()+refused.Load() == conns*each })
	if n := held.Load(); n == 0 || n > most {
		t.Errorf("%d requests of %d kB are held, want 1 to %d", n, header>>10, most)
	}
	if res, body := do(t, w.client(t, true), "GET", w.url("/"), nil); res.StatusCode != 200 {
		t.Errorf("another connection: %d %s", res.StatusCode, body)
	}
	if denied := w.denied(); len(denied) == 0 || denied[0].Reason != policy.DeniedLimit {
		t.Errorf("recorded %v", denied)
	}
	close(free)
	running.Wait()
	testkit.Eventually(t, "the memory to be given back", func() bool {
		w.memory.mu.Lock()
		defer w.memory.mu.Unlock()
		return w.memory.used == 0
	})
	if served.Load() != held.Load() {
		t.Errorf("%d were served, and %d held", served.Load(), held.Load())
	}
}
