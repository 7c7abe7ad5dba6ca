package confine

import (
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"golang.org/x/sys/unix"
)

// hostNamespaces is what a jail with host namespaces has of its own. Its supervisor is not a PID 1: if it were
// killed, the other processes would live on. So the supervisor itself ends them when its socket
// is closed.
type hostNamespaces struct {
	used bool        // there is no PID namespace
	tmp  string      // its TMPDIR on the host
	last *time.Timer // ends a supervisor that did not end the other processes in time
}

// endGrace is how long the supervisor may take to end the other processes before the launcher
// kills it. The supervisor takes long only if another process stops it again and again.
const endGrace = 5 * time.Second

// end makes the supervisor of p end all processes. p.mu is held.
func (h *hostNamespaces) end(p *Process) {
	if h.last != nil {
		return // under way
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	unix.PidfdSendSignal(p.pidfd, unix.SIGCONT, nil, 0) // without Landlock's scopes the server may have stopped it
	h.last = time.AfterFunc(endGrace, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pidfd >= 0 {
			unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
		}
	})
}

// cleanUp removes the TMPDIR that a supervisor could not remove itself. Process.mu is held.
func (h *hostNamespaces) cleanUp() {
	if h.last != nil {
		h.last.Stop()
	}
	jail.RemoveTree(h.tmp)
}
