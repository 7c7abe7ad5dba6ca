package confine

import (
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"golang.org/x/sys/unix"
)

// useHostNS prepares for a jail without namespaces. The init is nobody's PID 1: killed,
// it would leave the others alive. It ends them itself when the socket ends.
func (p *Process) useHostNS(tmp string) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.initGone, p.Tmp = true, tmp
}

// endGrace is how long the init may take to end the others before it is ended
// itself: it can hang only where somebody stops it again and again.
const endGrace = 5 * time.Second

// killHostNS has the init end everything. p.mu is held.
func (p *Process) killHostNS() error {
	if p.last != nil {
		return nil // under way
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	unix.PidfdSendSignal(p.Pidfd, unix.SIGCONT, nil, 0) // before Landlock's scopes the server may have stopped it
	p.last = time.AfterFunc(endGrace, func() {
		p.Mu.Lock()
		defer p.Mu.Unlock()
		if p.Pidfd >= 0 {
			unix.PidfdSendSignal(p.Pidfd, unix.SIGKILL, nil, 0)
		}
	})
	return nil
}

// cleanUpHostNS clears up behind an init that could not do it itself. p.mu is held.
func (p *Process) cleanUpHostNS() {
	if p.last != nil {
		p.last.Stop()
	}
	supervisor.RemoveTree(p.Tmp)
}
