package lifecycle

import (
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// upstream is the Upstream of a session: the server's process while there is one,
// then a diagnosis with which every request is answered.
//
// Invariant: a request is in the table before it is sent, and fail sets failed
// before the table is emptied. So each request is answered exactly once,
// whichever comes first.
type upstream struct {
	server    atomic.Pointer[mcpproxy.Conn]
	guard     discoverGuard
	failed    atomic.Pointer[diagnostics.Diagnosis]
	onRefused func(diagnostics.Diagnosis) // after a frame that came when failed was set

	sendsBegun, sendsDone atomic.Int64 // frames for the server: see stuck
}

// sendStalled reports whether the frame that is being sent is still the one of the
// last time, in which *last says how many had been begun.
func (l *upstream) sendStalled(last *int64) bool {
	begun := l.sendsBegun.Load()
	same := begun == *last
	*last = begun
	return same && l.sendsDone.Load() != begun
}

func (l *upstream) fail(d diagnostics.Diagnosis) {
	l.failed.CompareAndSwap(nil, &d)
	l.guard.ready.set()
}

// Send implements mcpproxy.Upstream. It never fails: a server that no longer
// reads is about to end, or to be ended, and then everything open is answered.
func (l *upstream) Send(f *mcpproxy.Frame) error {
	if d := l.failed.Load(); d != nil {
		l.onRefused(*d)
		return nil
	}
	var server *mcpproxy.Conn
	probe := false
	if l.guard.disabled.Load() {
		server = l.server.Load()
	} else {
		server, probe = l.guard.beforeSend(f, &l.server)
	}
	if server != nil {
		l.sendsBegun.Add(1)
		err := server.Send(f)
		l.sendsDone.Add(1)
		if probe && err == nil {
			l.guard.markSent()
		}
	}
	if d := l.failed.Load(); d != nil {
		l.onRefused(*d)
	}
	return nil
}
