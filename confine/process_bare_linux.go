package confine

import (
	"time"

	"golang.org/x/sys/unix"
)

// bare prepares for a jail without namespaces. The init is nobody's PID 1: killed,
// it would leave the others alive. It ends them itself when the socket ends.
func (p *Process) bare(tmp string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noInit, p.tmp = true, tmp
}

// endGrace is how long the init may take to end the others before it is ended
// itself: it can hang only where somebody stops it again and again.
const endGrace = 5 * time.Second

// endBare has the init end everything. p.mu is held.
func (p *Process) endBare() error {
	if p.last != nil {
		return nil // under way
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	unix.PidfdSendSignal(p.pidfd, unix.SIGCONT, nil, 0) // before Landlock's scopes the server may have stopped it
	p.last = time.AfterFunc(endGrace, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pidfd >= 0 {
			unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
		}
	})
	return nil
}

// afterBare clears up behind an init that could not do it itself. p.mu is held.
func (p *Process) afterBare() {
	if p.last != nil {
		p.last.Stop()
	}
	removeTree(p.tmp)
}
