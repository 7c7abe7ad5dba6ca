package confine

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/rootfs"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// Process is a program in its jail.
type Process struct {
	mu          sync.Mutex
	pid         int // of the supervisor process, as the host sees it
	pidfd       int
	control     *os.File          // the supervisor process's socket: the spec or the server's descriptors, then signals, a byte each
	events      *reported.Reader  // from the supervisor; nil before it has a spec
	notices     []Notice          // before OnNotice was called
	onNotice    func(Notice)      // see OnNotice
	denials     []policy.Denial   // except those of the supervisor
	refused     reported.Refusals // those of the supervisor
	unanswered  []policy.Unanswered
	exit        Exit
	exited      bool       // exit is set
	why         string     // see Exit
	supervised  bool       // the supervisor runs and may send events
	killed      bool       // Kill was called, perhaps before the supervisor process was started
	plan        *plan.Plan // the plan it was started with
	hostNS      hostNamespaces
	done        chan struct{}
	wholeMounts []byte            // see Mounts: the last list that had all
	keeping     *reported.Answers // of KeepCall
	askHost     func(ctx context.Context, host string, port int) bool
	userHome    string // see Launcher.UserHome
	closeDone   sync.Once
	inCgroup    bool // it has a cgroup, which this process removes

	network     gateway.Network
	interceptor *gateway.Interceptor // nil if no rule concerns requests
	runTLS      gateway.Runner

	cgroup *cgroup.Cgroup // nil once the jail has ended
	limits policy.Limits  // those that the cgroup enforces
}

// listen handles the events of a supervisor with host namespaces until it ends. It returns the
// error of a start that failed. started gets nil as soon as the program runs. A failure after that
// is recorded as the reason for the end.
func (p *Process) listen(events *os.File, started chan<- error) error {
	var running bool
	var failed error
	w, err := reported.NewReader(events, func(m spec.Event) {
		switch {
		case m.Kind == spec.EventStarted:
			running = true
			started <- nil
		// A step that fails after the start is the reason for the end, and not an error of Start.
		case m.Kind == spec.EventFailed && !running:
			failed = &step.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}
		default:
			p.handleEvent(m)
		}
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.events = w
	p.mu.Unlock()
	w.Run()
	if !running && failed == nil {
		failed = &step.Error{Step: "init", Detail: "the supervisor ended without a reason. A Go program ends so if the limit of processes, memory or open files is too low (ulimit -a)"}
	}
	return failed
}

// handleEvent records one event of the jail. The supervisor sent it, or the launcher itself made
// it while it built the jail or when the server ended.
func (p *Process) handleEvent(m spec.Event) {
	if m.Kind == spec.EventAbsent && p.userHome != "" && policy.Within(m.Target, p.plan.Profile.Home) {
		m.Target = p.userHome + m.Target[len(p.plan.Profile.Home):]
	}
	if m.Kind == spec.EventAbsent && !isRefusal(p, m) {
		return
	}
	if m.Kind == spec.EventNote {
		p.notify(Notice{Text: m.Detail, Warning: m.Step == spec.NoteWarning})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Kind {
	case spec.EventSupervisor:
		p.supervised = true
		p.superviseCgroup()
	case spec.EventKept:
		p.keeping.Note()
	case spec.EventFailed: // of a supervisor, whose jail ends
		p.why = (&step.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}).Error()
	case spec.EventLimit:
		p.denials = reported.LimitReached(p.denials, m.Step, m.Detail, m.Num, m.Pid, m.Program)
	case spec.EventRefused, spec.EventAbsent:
		p.refused.Add(m, time.Now())
	case spec.EventUnanswered:
		p.unanswered = reported.NoteUnanswered(p.unanswered, m, time.Now())
	case spec.EventExit:
		p.exit, p.exited = Exit{Code: m.Num, Signal: syscall.Signal(m.Pid)}, true
		if m.Detail == spec.ExitedAlone && !p.network.IsOpen() && !p.inCgroup {
			p.markDone() // what is left to be done is the kernel's
		}
	}
}

func (p *Process) isSupervised() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.supervised
}

func (p *Process) markDone() { p.closeDone.Do(func() { close(p.done) }) }

// isClosed reports whether a channel that only closes is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isRefusal reports whether a name is missing because of the jail. For the sum of the names that
// are not recorded one by one (policy.DenialOthers) that is unknown. It then returns true, and
// the record says so.
func isRefusal(p *Process, m spec.Event) bool {
	p.mu.Lock()
	known := p.refused.Knows(m)
	p.mu.Unlock()
	return known || m.Target == policy.DenialOthers || reported.IsOnHost(m)
}

// HostFailures returns the granted hosts that this machine could not reach, the latest last.
func (p *Process) HostFailures() []policy.HostFailure { return p.network.HostFailures() }

// KeepCall tells the supervisor that a call begins or, if ends is set, that none runs any more, and waits
// until it has kept what the program has open for writing, or noted what the program has left. The
// error is os.ErrDeadlineExceeded if the supervisor takes too long.
func (p *Process) KeepCall(ends bool) error {
	request := byte(spec.RequestBegin)
	if ends {
		request = spec.RequestEnd
	}
	return p.keeping.Ask(p.control, request, p.done)
}

// openNetwork opens the network of the jail, and calls goOn.
func (p *Process) openNetwork(goOn func()) error {
	o := gateway.Options{
		Plan: p.plan, Control: p.control, Interceptor: p.interceptor, Run: p.runTLS, Ask: p.askHost,
		Leak: func(l egress.Leak) { p.notify(Notice{Leak: &l}) },
		Warn: func(warning string) { p.notify(Notice{Text: warning, Warning: true}) },
	}
	return p.network.Open(o, goOn)
}

// PID returns the process ID of the supervisor process on the host. With namespaces that
// process is a stub until it executes the supervisor.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Mounts returns what is mounted in the jail, as the kernel tells it, and whether that has all that the plan
// mounts on names of the host. Such a mount changes without the jail when its name is removed or renamed outside:
// a mask is gone then, or lies elsewhere. A jail without mounts of its own always has none.
func (p *Process) Mounts() (list []byte, whole bool) {
	if p.plan.Spec.HostNS {
		return nil, true
	}
	list = proc.Mounts(p.PID())
	p.mu.Lock()
	whole = len(list) > 0 && bytes.Equal(list, p.wholeMounts)
	p.mu.Unlock()
	if whole || len(list) == 0 || !rootfs.AreAttached(p.plan.Spec.Mounts, list) {
		return list, whole
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wholeMounts = list
	return list, true
}

// Signal passes a signal on to the program. SIGKILL ends the whole jail.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return syscall.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd < 0 || isClosed(p.done) {
		return os.ErrProcessDone
	}
	if s == syscall.SIGKILL && p.hostNS.used {
		p.hostNS.end(p)
		return nil
	}
	if s == syscall.SIGKILL {
		return unix.PidfdSendSignal(p.pidfd, s, nil, 0)
	}
	if s <= 0 || s > 64 {
		return syscall.EINVAL
	}
	_, err := p.control.Write([]byte{byte(s)})
	return err
}

// Denials returns the refusals that the jail recorded so far.
func (p *Process) Denials() []policy.Denial {
	p.mu.Lock()
	events := p.events
	p.mu.Unlock()
	if events != nil {
		events.Drain()
	}
	latest, _ := p.network.Denials()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookIntoCgroup()
	latest = append(append(latest, p.denials...), p.refused.List(time.Now())...)
	slices.SortStableFunc(latest, func(a, b policy.Denial) int { return a.Time.Compare(b.Time) })
	return latest
}
