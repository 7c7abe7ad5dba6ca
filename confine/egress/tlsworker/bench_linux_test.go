package tlsworker_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
)

// spliced forwards bytes, as a Gateway does if no rule depends on requests.
type spliced struct{}

func (spliced) Serve(c *net.TCPConn, head []byte, _ egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	defer c.Close()
	up, err := dial(context.Background())
	if err != nil {
		return
	}
	defer up.Close()
	up.Write(head)
	var back sync.WaitGroup
	back.Go(func() { c.ReadFrom(up); c.CloseWrite() })
	up.ReadFrom(c)
	up.CloseWrite()
	back.Wait()
}

// BenchmarkRequest is one small request over TLS from a client to an upstream, both in
// this process: by eight at once on connections that are there, and one at a time on
// a connection of its own each.
func BenchmarkRequest(b *testing.B) {
	s, root := upstream(b, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	w, _ := start(b, root)
	for _, way := range []struct {
		name string
		via  egress.Interceptor
		ca   []byte
	}{{"spliced", spliced{}, root}, {"terminated", w, w.CA()}} {
		g := newGate(b, way.via, s.Listener.Addr().String())
		for _, http2 := range []bool{false, true} {
			name := way.name + map[bool]string{false: "/http1", true: "/http2"}[http2]
			b.Run(name, func(b *testing.B) {
				c := g.client(b, way.ca, http2)
				b.SetParallelism(4)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						fetch(b, c, "GET", nil)
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
			b.Run(name+"/connection", func(b *testing.B) {
				for b.Loop() {
					c := g.client(b, way.ca, http2)
					fetch(b, c, "GET", nil)
					c.CloseIdleConnections()
				}
			})
		}
	}
}
