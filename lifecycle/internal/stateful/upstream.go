package stateful

import (
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// upstream is where the client's frames go: to the server while there is one, and after a
// failure into a diagnosis that answers every request.
//
// Invariant: a request is in the table before it is sent, and fail sets failed before the
// table is emptied. So each request is answered exactly once.
type upstream struct {
	server    atomic.Pointer[mcpproxy.Conn]
	guard     discoverGuard
	failed    atomic.Pointer[diagnostics.Diagnosis]
	onFrame   func(*mcpproxy.Frame)       // called for each frame; may be nil
	onRefused func(diagnostics.Diagnosis) // called for each frame after failed is set

	sendsBegun, sendsDone atomic.Int64 // frames for the server: see sendStalled
}

// sendStalled reports whether the same frame is being sent as at the last call. *last is
// how many had been begun then.
func (u *upstream) sendStalled(last *int64) bool {
	begun := u.sendsBegun.Load()
	same := begun == *last
	*last = begun
	return same && u.sendsDone.Load() != begun
}

func (u *upstream) fail(d diagnostics.Diagnosis) {
	u.failed.CompareAndSwap(nil, &d)
	u.guard.ready.Set()
}

// Send implements mcpproxy.Upstream. It never fails: a server that no longer reads is
// about to end, and then every open request is answered.
func (u *upstream) Send(f *mcpproxy.Frame) error {
	if u.onFrame != nil {
		u.onFrame(f)
	}
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
