//go:build !seatbelt

package confine

import (
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"golang.org/x/sys/unix"
)

// useHostNS prepares for a jail with host namespaces. Its supervisor is not a PID 1: if it were
// killed, the other processes would live on. So the supervisor itself ends them when its socket
// is closed.
func (p *Process) useHostNS(tmp string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hostNS, p.tmp = true, tmp
}

// endGrace is how long the supervisor may take to end the other processes before the launcher
// kills it. The supervisor takes long only if another process stops it again and again.
const endGrace = 5 * time.Second

// killHostNS makes the supervisor end all processes. p.mu is held.
func (p *Process) killHostNS() error {
	if p.last != nil {
		return nil // under way
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	unix.PidfdSendSignal(p.pidfd, unix.SIGCONT, nil, 0) // without Landlock's scopes the server may have stopped it
	p.last = time.AfterFunc(endGrace, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pidfd >= 0 {
			unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
		}
	})
	return nil
}

// cleanUpHostNS removes the TMPDIR that a supervisor could not remove itself. p.mu is held.
func (p *Process) cleanUpHostNS() {
	if p.last != nil {
		p.last.Stop()
	}
	jail.RemoveTree(p.tmp)
}
