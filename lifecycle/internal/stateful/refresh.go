package stateful

import (
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// refreshPause is the least time between two looks at the configuration of a stateful server,
// whose calls may be many thousands a second.
const refreshPause = time.Second

// refresher looks at the configuration of a stateful session, whose jail stays as it is. It does
// so on its own goroutine: neither the disk nor a slow client delays a call.
type refresher struct {
	wanted  chan bool // a call came; the value says that it asks for log messages
	ended   chan struct{}
	last    atomic.Int64 // when it looked last, in nanoseconds
	problem atomic.Bool  // the last look found one
}

func (r *refresher) start(c *session.Client) {
	r.wanted, r.ended = make(chan bool, 1), make(chan struct{})
	if c.Config.Refresh == nil {
		return
	}
	c.Tasks.Go(func() {
		var found session.Refreshed
		for {
			select {
			case <-r.ended:
				return
			case asked := <-r.wanted:
				found.Notice = ""
				if now := time.Now().UnixNano(); now-r.last.Load() >= int64(refreshPause) {
					r.last.Store(now)
					found = c.Config.Refresh()
					r.problem.Store(found.Problem != "")
				}
				c.TellRefreshed(found, asked)
			}
		}
	})
}

func (r *refresher) onCall(c *session.Client, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if c.Config.Refresh == nil || !r.problem.Load() && time.Now().UnixNano()-r.last.Load() < int64(refreshPause) {
		return
	}
	asked := e.Era() == mcpproxy.Modern && session.ModernRequest("tools/call", f.Slice(e.ParamsMeta)).Logs
	select {
	case r.wanted <- asked:
	default: // an earlier call has asked for the look
	}
}

func (r *refresher) stop() { close(r.ended) }
