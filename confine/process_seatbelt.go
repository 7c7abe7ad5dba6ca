//go:build darwin || (linux && seatbelt)

package confine

import (
	"context"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/profilefile"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxlog"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Process is a program in its jail.
type Process struct {
	mu         sync.Mutex
	supervisor *os.Process
	control    *os.File // the supervisor's socket: the spec, then signals, a byte each. nil once it has ended
	notices    []Notice // before OnNotice was called
	onNotice   func(Notice)
	denials    []policy.Denial // of limits; the gateway has the others
	exit       Exit
	exited     bool   // exit is set
	why        string // see Exit
	killed     bool   // Kill was called, perhaps before the supervisor process was started
	plan       *plan.Plan
	profile    profilefile.File // with the profile for sandbox-exec
	log        *sandboxlog.Log
	self       string    // the name of mcp-jail's own program
	began      time.Time // when the supervisor told that the server runs
	temp       string    // its TMPDIR
	members    members
	done       chan struct{}
	ended      chan struct{} // closed when the supervisor has ended

	gateway     *egress.Gateway      // nil if no host is granted
	interceptor *gateway.Interceptor // nil if no rule concerns requests
}

// supervisorDied is the Exit.Why of a jail whose supervisor ended without reporting a reason.
const supervisorDied = "the jail's supervisor died: another process killed it, or the system did for lack of memory"

// handleEvent records one event of the supervisor.
func (p *Process) handleEvent(e spec.Event) {
	if e.Kind == spec.EventNote {
		p.notify(Notice{Text: e.Detail, Warning: e.Step == spec.NoteWarning})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case spec.EventMember:
		p.members.note(e)
	case spec.EventTempDir:
		p.temp = p.plan.Spec.TempDir
	case spec.EventFailed: // of a supervisor, whose jail ends
		p.why = (&step.Error{Step: e.Step, Errno: syscall.Errno(e.Num), Detail: e.Detail, Fix: e.Target}).Error()
	case spec.EventLimit:
		p.denials = reported.LimitReached(p.denials, e.Step, e.Detail, e.Num, e.Pid, e.Program)
	case spec.EventExit:
		p.exit, p.exited = Exit{Code: e.Num, Signal: syscall.Signal(e.Pid)}, true
	}
}

// members are the processes of a server to end if the supervisor dies.
type members struct {
	leader int           // the first process, which leads the server's session; 0: none was started
	starts map[int]int64 // that one and those that have left its session, with the time of their start
}

// note records a process. Process.mu is held.
func (m *members) note(e spec.Event) {
	if m.starts == nil {
		m.starts = map[int]int64{}
	}
	if m.starts[e.Pid], _ = strconv.ParseInt(e.Detail, 10, 64); e.Num == 1 {
		m.leader = e.Pid
	}
}

// recordDeath records that the supervisor died before the program ended, unless it has reported
// another reason.
func (p *Process) recordDeath() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exited && !p.killed && p.why == "" && len(p.denials) == 0 {
		p.why = supervisorDied
	}
}

// cleanUp ends what a supervisor that was killed has left, and removes what it did not remove. The
// supervisor has ended.
func (p *Process) cleanUp() {
	p.mu.Lock()
	left, network, interceptor := p.members, p.gateway, p.interceptor
	p.mu.Unlock()
	if left.leader != 0 {
		for _, e := range sandboxexec.EndSession(left.leader, left.starts) {
			p.handleEvent(e)
		}
	}
	p.profile.Remove()
	jail.RemoveTree(p.temp)
	gateway.Close(network, interceptor)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exited {
		p.exit = Exit{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}
	}
}

// PID returns the process ID of the supervisor process, or 0 while there is none.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.supervisor == nil {
		return 0
	}
	return p.supervisor.Pid
}

// Signal passes a signal on to the program. SIGKILL ends the whole jail.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return syscall.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.control == nil:
		return os.ErrProcessDone
	case s == syscall.SIGKILL:
		p.endSupervisor()
		return nil
	case s <= 0 || s > 64:
		return syscall.EINVAL
	}
	_, err := p.control.Write([]byte{byte(s)})
	return err
}

// endGrace is how long the supervisor may take to end all processes before the launcher kills it,
// and ends them itself.
const endGrace = 5 * time.Second

// endSupervisor makes the supervisor end all processes of the server. p.mu is held.
func (p *Process) endSupervisor() {
	if p.control == nil {
		return
	}
	shutDown(p.control)
	p.supervisor.Signal(syscall.SIGCONT)
	supervisor := p.supervisor
	go func() {
		select {
		case <-p.ended:
		case <-time.After(endGrace):
			supervisor.Kill()
		}
	}()
}

// Denials returns the refusals that are known so far: those of the gateway, of limits, and what
// AskDenials found of others. What sandbox-exec and mcp-jail's own program tried before the server ran
// is in the log too, and left out. A server may start programs with these names later.
func (p *Process) Denials() []policy.Denial {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest := slices.DeleteFunc(p.log.Denials(), func(d policy.Denial) bool {
		return (d.Program == p.self || d.Program == path.Base(sandboxexec.Path)) && !d.Latest().After(p.began)
	})
	latest = append(latest, p.denials...)
	if p.gateway != nil {
		latest = append(p.gateway.Denials(), latest...)
	}
	slices.SortStableFunc(latest, func(a, b policy.Denial) int { return a.Time.Compare(b.Time) })
	return latest
}

// HostFailures returns the granted hosts that this machine could not reach, the latest last.
func (p *Process) HostFailures() []policy.HostFailure {
	p.mu.Lock()
	gateway := p.gateway
	p.mu.Unlock()
	if gateway == nil {
		return nil
	}
	return gateway.HostFailures()
}

// AskDenials asks the log of the system what was refused since a time: Seatbelt itself tells nothing.
// It takes up to a second and a half. It finds nothing where this user may not read the log.
func (p *Process) AskDenials(ctx context.Context, since time.Time) {
	p.mu.Lock()
	log := p.log
	p.mu.Unlock()
	log.Ask(ctx, since)
}

// Unanswered returns nil: the server has no loopback of its own.
func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

// Listening knows nothing: the server has no network of its own.
func (*Process) Listening() (ports []int, known bool) { return nil, false }

// KeepOpen does nothing: no file is kept here before the server changes it.
func (*Process) KeepOpen() error { return nil }
