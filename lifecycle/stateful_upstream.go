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
func (u *upstream) sendStalled(last *int64) bool {
	begun := u.sendsBegun.Load()
	same := begun == *last
	*last = begun
	return same && u.sendsDone.Load() != begun
}

func (u *upstream) fail(d diagnostics.Diagnosis) {
	u.failed.CompareAndSwap(nil, &d)
	u.guard.ready.set()
}

// Send implements mcpproxy.Upstream. It never fails: a server that no longer
// reads is about to end, or to be ended, and then everything open is answered.
func (u *upstream) Send(f *mcpproxy.Frame) error {
	if d := u.failed.Load(); d != nil {
		u.onRefused(*d)
		return nil
	}
	var server *mcpproxy.Conn
	probe := false
	if u.guard.disabled.Load() {
		server = u.server.Load()
	} else {
		server, probe = u.guard.beforeSend(f, &u.server)
	}
	if server != nil {
		u.sendsBegun.Add(1)
		err := server.Send(f)
		u.sendsDone.Add(1)
		if probe && err == nil {
			u.guard.markSent()
		}
	}
	if d := u.failed.Load(); d != nil {
		u.onRefused(*d)
	}
	return nil
}
