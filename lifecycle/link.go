package lifecycle

import (
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// link is the Upstream of a session: the server's process while there is one,
// then a diagnosis with which every request is answered.
//
// Invariant: a request is in the table before it is sent, and fail sets failed
// before the table is emptied. So each request is answered exactly once,
// whichever comes first.
type link struct {
	server  atomic.Pointer[mcpproxy.Conn]
	failed  atomic.Pointer[diagnostics.Diagnosis]
	refused func(diagnostics.Diagnosis) // after a frame that came when failed was set
}

func (l *link) fail(d diagnostics.Diagnosis) { l.failed.CompareAndSwap(nil, &d) }

// Send implements mcpproxy.Upstream. It never fails: a server that no longer
// reads is about to end, or to be ended, and then everything open is answered.
func (l *link) Send(f *mcpproxy.Frame) error {
	if d := l.failed.Load(); d != nil {
		l.refused(*d)
		return nil
	}
	if server := l.server.Load(); server != nil {
		server.Send(f)
	}
	if d := l.failed.Load(); d != nil {
		l.refused(*d)
	}
	return nil
}
