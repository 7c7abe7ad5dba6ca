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
	shield  shield
	failed  atomic.Pointer[diagnostics.Diagnosis]
	refused func(diagnostics.Diagnosis) // after a frame that came when failed was set

	begun, done atomic.Int64 // frames for the server: see stuck
}

// stuck reports whether the frame that is being sent is still the one of the
// last time, in which *last says how many had been begun.
func (l *link) stuck(last *int64) bool {
	begun := l.begun.Load()
	same := begun == *last
	*last = begun
	return same && l.done.Load() != begun
}

func (l *link) fail(d diagnostics.Diagnosis) {
	l.failed.CompareAndSwap(nil, &d)
	l.shield.up.set()
}

// Send implements mcpproxy.Upstream. It never fails: a server that no longer
// reads is about to end, or to be ended, and then everything open is answered.
func (l *link) Send(f *mcpproxy.Frame) error {
	if d := l.failed.Load(); d != nil {
		l.refused(*d)
		return nil
	}
	var server *mcpproxy.Conn
	probe := false
	if l.shield.over.Load() {
		server = l.server.Load()
	} else {
		server, probe = l.shield.watch(f, &l.server)
	}
	if server != nil {
		l.begun.Add(1)
		err := server.Send(f)
		l.done.Add(1)
		if probe && err == nil {
			l.shield.sent()
		}
	}
	if d := l.failed.Load(); d != nil {
		l.refused(*d)
	}
	return nil
}
