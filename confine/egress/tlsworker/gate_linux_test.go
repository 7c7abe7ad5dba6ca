package tlsworker_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
)

// gated is a Terminator whose Gate ends when done is closed.
type gated struct {
	egress.Interceptor
	done chan struct{}
}

func (g gated) Serve(c *net.TCPConn, head []byte, t egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	t.Done = g.done
	g.Interceptor.Serve(c, head, t, dial)
}

// TestGateEnds: the end of a Gate does not wait for an answer that is still to come,
// and is that of its connections in the process, which may have others.
func TestGateEnds(t *testing.T) {
	wait := make(chan struct{})
	defer close(wait)
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		<-wait
	})
	w := start(t, func(o *tlsworker.Options) { o.Roots = root })
	done := make(chan struct{})
	g := newGate(t, gated{w, done}, s.Listener.Addr().String())
	res, err := g.client(t, w.CA(), true).Get("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if g.open.Load() != 1 {
		t.Fatalf("%d connections", g.open.Load())
	}
	close(done)
	waitFor(t, "the end of Serve", func() bool { return g.open.Load() == 0 })
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the answer ended as if it were whole")
	}
}
