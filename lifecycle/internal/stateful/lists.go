package stateful

import (
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// listRequest returns what the client has asked for with a request whose answer is compared.
func (s *statefulSession) listRequest(c *mcpproxy.Call) session.ListRequest {
	asked := session.ListRequest{Method: string(c.Method), Cursor: session.UnknownCursor, Capabilities: s.heir.legacyCapabilities()}
	if c.Line == nil {
		return asked // the page is not known, so it is never taken for a whole list
	}
	f := mcpproxy.Parse(c.Line)
	e := &f.Messages[0]
	modern := session.ModernRequest(asked.Method, f.Slice(e.ParamsMeta))
	if asked.Logs, asked.Cursor = modern.Logs, ""; e.Era() == mcpproxy.Modern {
		asked.Capabilities = modern.Capabilities
	}
	if e.Params.Present() {
		asked.Cursor = session.CursorOf(f.Slice(e.Params))
	}
	return asked
}

// refresher looks at the configuration of a stateful session, and has the server started again if the user wants that. It
// does so on its own goroutine: neither the disk nor a slow client delays a call.
type refresher struct {
	starts chan *session.Next // that the user wants in the client
	wanted chan bool          // a call came; the value says that it asks for log messages
	ended  chan struct{}
	last   atomic.Int64 // when it looked last, in nanoseconds
	news   atomic.Bool  // a call is to be told of a look
}

// start has it look once in each Times.Refresh, and no more often for calls. succeed starts the server again.
// relist is called when other tools are on.
func (r *refresher) start(c *session.Client, succeed func(*session.Next), relist func()) {
	r.starts, r.wanted, r.ended = make(chan *session.Next, 1), make(chan bool, 1), make(chan struct{})
	if c.Config.Refresh == nil {
		return
	}
	c.Tasks.Go(func() {
		notice := "" // the next call is told
		var found session.Refreshed
		look := func() {
			if now := time.Now().UnixNano(); now-r.last.Load() >= int64(c.Times.Refresh) {
				r.last.Store(now)
				if found = c.Config.Refresh(); found.Tools {
					relist()
				}
				if c.Follows(found); found.Notice != "" {
					notice = found.Notice
				}
				r.news.Store(found.Problem != "" || notice != "")
			}
		}
		tell := func(asked bool) {
			look()
			found.Notice, notice = notice, ""
			r.news.Store(found.Problem != "")
			c.TellRefreshed(found, asked)
		}
		tick := time.NewTicker(c.Times.Refresh)
		defer tick.Stop()
		for {
			select {
			case asked := <-r.wanted:
				tell(asked)
			case <-tick.C:
				look()
			case next := <-r.starts:
				succeed(next)
			case <-r.ended:
				select {
				case asked := <-r.wanted: // by a call before the end
					tell(asked)
				default:
				}
				return
			}
			if next := found.Next; next != nil {
				found.Next = nil
				succeed(next)
			}
		}
	})
}

func (r *refresher) onCall(c *session.Client, asked bool) {
	if c.Config.Refresh == nil || !r.news.Load() && time.Now().UnixNano()-r.last.Load() < int64(c.Times.Refresh) {
		return
	}
	select {
	case r.wanted <- asked:
	default: // an earlier call has asked for the look
	}
}

// restart has the server started again.
func (r *refresher) restart(next *session.Next) {
	select {
	case r.starts <- next:
	default: // another start waits
		next.Done(false)
	}
}

func (r *refresher) stop() { close(r.ended) }
