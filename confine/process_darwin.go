package confine

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Process is a program in its jail.
type Process struct {
	plan   *Plan
	server *sandboxexec.Process // set before Start returns
	temp   string               // its TMPDIR, to be removed
	done   chan struct{}

	gateway     *egress.Gateway      // nil if no host is granted
	interceptor *gateway.Interceptor // nil if no rule concerns requests

	mu       sync.Mutex
	notices  []Notice // before OnNotice was called
	onNotice func(Notice)
	exit     Exit
	why      string // see Exit: always "" here
	killed   bool   // Kill was called
}

// wait records the end of the program, after which nothing is left of its process group.
func (p *Process) wait() {
	ws := p.server.Wait()
	p.mu.Lock()
	if p.exit = (Exit{Code: ws.ExitStatus()}); ws.Signaled() {
		p.exit = Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	p.mu.Unlock()
	p.cleanUp()
	close(p.done)
}

// cleanUp ends the network of a session, and removes what its start made.
func (p *Process) cleanUp() {
	gateway.Close(p.gateway, p.interceptor)
	jail.RemoveTree(p.temp)
}

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.server.PID }

// Signal sends a signal to the program. SIGKILL ends the whole jail.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok || s <= 0 {
		return syscall.EINVAL
	}
	if s == syscall.SIGKILL {
		p.server.Kill()
		return nil
	}
	return p.server.Signal(s)
}

// Denials returns the refusals that are known so far: those of the gateway. Seatbelt tells of none.
func (p *Process) Denials() []policy.Denial {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.Denials()
}

// HostFailures returns the granted hosts that this machine could not reach, the latest last.
func (p *Process) HostFailures() []policy.HostFailure {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.HostFailures()
}

// Unanswered returns nil: the server has no loopback of its own.
func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

// Listening knows nothing: the server has no network of its own.
func (*Process) Listening() (ports []int, known bool) { return nil, false }

// KeepCall does nothing: no file is kept here before the server changes it.
func (*Process) KeepCall(bool) error { return nil }
