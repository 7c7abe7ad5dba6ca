package confine

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Process is a program in its jail.
type Process struct {
	mu          sync.Mutex
	pid         int // of the supervisor process, as the host sees it
	pidfd       int
	control     *os.File        // the supervisor process's socket: the spec or the server's descriptors, then signals, a byte each
	events      *reportReader   // from the supervisor; nil before it has a spec
	notices     []Notice        // before OnNotice was called
	onNotice    func(Notice)    // see OnNotice
	denials     []policy.Denial // except those of the supervisor
	refused     heldRefusals    // those of the supervisor
	exit        Exit
	exited      bool       // exit is set
	why         string     // see Exit
	supervised  bool       // the supervisor runs and may send events
	killed      bool       // Kill was called, perhaps before the supervisor process was started
	plan        *plan.Plan // the plan it was started with
	hostNS      hostNamespaces
	done        chan struct{}
	wholeMounts []byte         // see Mounts: the last list that had all
	keeping     *heldAnswers   // of KeepCall
	ports       *gateway.Ports // of the session, or nil
	traffic     *Traffic       // of the session, or nil
	userHome    string         // see Launcher.UserHome
	closeDone   sync.Once
	inCgroup    bool // it has a cgroup, which this process removes

	network     gateway.Network
	interceptor *gateway.Interceptor // nil if no rule concerns requests
	runTLS      gateway.Runner

	cgroup *kernel.Cgroup // nil once the jail has ended
	limits policy.Limits  // those that the cgroup enforces
}

// listen handles the events of a supervisor with host namespaces until it ends. It returns the
// error of a start that failed. started gets nil as soon as the program runs. A failure after that
// is recorded as the reason for the end.
func (p *Process) listen(events *os.File, started chan<- error) error {
	var running bool
	var failed error
	w, err := newReportReader(events, func(m spec.Event) {
		switch {
		case m.Kind == spec.EventStarted:
			running = true
			started <- nil
		// A step that fails after the start is the reason for the end, and not an error of Start.
		case m.Kind == spec.EventFailed && !running:
			failed = &sys.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}
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
		failed = &sys.Error{Step: "init", Detail: "the part of mcp-jail that watches the jail ended without a reason. A Go program ends so if the limit of processes, memory or open files is too low (ulimit -a)"}
	}
	return failed
}

// handleEvent records one event of the jail. The supervisor sent it, or the launcher itself made
// it while it built the jail or when the server ended.
func (p *Process) handleEvent(m spec.Event) {
	ownHome := m.Kind == spec.EventAbsent && p.userHome != "" && p.plan.Profile.HomePrivate && policy.Within(m.Target, p.plan.Profile.Home)
	if ownHome {
		m.Target = p.userHome + m.Target[len(p.plan.Profile.Home):]
	}
	if m.Kind == spec.EventAbsent && !isRefusal(p, m) {
		return
	}
	if m.Kind == spec.EventNote {
		p.notify(Notice{Text: m.Detail, Warning: m.Step == spec.NoteWarning})
		return
	}
	if m.Kind == spec.EventBind {
		if addr, err := netip.ParseAddr(m.Target); err == nil {
			p.network.Bind(netip.AddrPortFrom(addr, uint16(m.Num)))
		}
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
		p.why = (&sys.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}).Error()
	case spec.EventLimit:
		p.denials = limitReached(p.denials, m.Step, m.Detail, m.Num, m.Pid, m.Program)
	case spec.EventRefused, spec.EventAbsent:
		p.refused.Add(m, ownHome && m.Detail != policy.OpRead.String(), time.Now())
	case spec.EventExit:
		p.exit, p.exited = Exit{Code: m.Num, Signal: syscall.Signal(m.Pid)}, true
		if m.Detail == spec.ExitedAlone && !p.network.Relays() && !p.inCgroup {
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
	if known || m.Target == policy.DenialOthers {
		return true
	}
	if !isOnHost(m) {
		return false
	}
	e, covered := p.plan.Profile.Find(m.Target)
	return !covered || e.Origin != policy.OriginHome // what its own HOME lacks is no refusal
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
		Plan: p.plan, Control: p.control, Interceptor: p.interceptor, Run: p.runTLS, Ports: p.ports,
		Leak: func(l egress.Leak) { p.notify(Notice{Leak: &l}) }, Traffic: p.traffic,
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
	list = sys.Mounts(p.PID())
	p.mu.Lock()
	whole = len(list) > 0 && bytes.Equal(list, p.wholeMounts)
	p.mu.Unlock()
	if whole || len(list) == 0 || !jail.AreAttached(p.plan.Spec.Mounts, list) {
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

// answerTimeout is how long Ask waits, so that a filesystem that hangs does not stop a relay for good.
const answerTimeout = 30 * time.Second

// heldAnswers counts the requests of one kind to a supervisor, and its answers.
type heldAnswers struct {
	mu   sync.Mutex
	came chan struct{}
	open int // requests without an answer: one at most
}

// newHeldAnswers returns a count of none.
func newHeldAnswers() *heldAnswers { return &heldAnswers{came: make(chan struct{}, 64)} }

// Note notes an answer.
func (a *heldAnswers) Note() {
	select {
	case a.came <- struct{}{}:
	default: // Ask has stopped waiting
	}
}

// Ask sends a request to a supervisor and waits for its answer. done is closed when its jail has ended. The error
// is os.ErrDeadlineExceeded if the supervisor takes too long.
func (a *heldAnswers) Ask(supervisor *os.File, request byte, done <-chan struct{}) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.open > 0 { // an earlier one came too late: while it has no answer, a filesystem hangs
		select {
		case <-a.came:
			a.open--
		default:
			return os.ErrDeadlineExceeded
		}
	}
	if _, err := supervisor.Write([]byte{request}); err != nil {
		return err
	}
	late := time.NewTimer(answerTimeout)
	defer late.Stop()
	a.open++
	select {
	case <-a.came:
		a.open--
		return nil
	case <-done:
		return os.ErrProcessDone
	case <-late.C:
		return os.ErrDeadlineExceeded
	}
}

// Unanswered returns the ports of the jail's own loopback to which the server connected while no
// program of the jail listened there, since a time, the latest last. Ports that lead into the jail are
// left out, and those at which a program of the jail listens by now. A jail without namespaces has no
// loopback of its own: what it refuses is a denial.
func (p *Process) Unanswered(since time.Time) []policy.Unanswered {
	_, all := p.network.Denials()
	p.mu.Lock()
	plan, pid, running := p.plan, p.pid, p.pidfd >= 0
	p.mu.Unlock()
	all = slices.DeleteFunc(all, func(u policy.Unanswered) bool {
		return u.Last.Before(since) || slices.Contains(plan.Profile.Inbound, u.Port)
	})
	if len(all) == 0 {
		return nil
	}
	granted := egress.Ports(plan.Profile.Net) // the gateway listens there
	if running {                              // else another process may have its number
		own, _ := sys.Listening(pid)
		all = slices.DeleteFunc(all, func(u policy.Unanswered) bool {
			return slices.Contains(own, u.Port) && !slices.Contains(granted, uint16(u.Port))
		})
	}
	slices.SortStableFunc(all, func(a, b policy.Unanswered) int { return a.Last.Compare(b.Last) })
	return all
}

// Listening returns the TCP ports at which programs of the jail listen, sorted. known is false if the
// jail has ended, or has no network of its own.
func (p *Process) Listening() (ports []int, known bool) {
	// The supervisor is our child: until it has been waited for, no other process has its number.
	ports, known = sys.Listening(p.PID())
	return slices.DeleteFunc(ports, p.network.IsInUse), known
}

// StaleSocket reports whether nothing listens at a socket of this host any more. It connects to none of which the kernel
// says that a program listens.
func StaleSocket(path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	if known, err := sys.HasSocket(path); known || err != nil {
		return false
	}
	conn, err := net.Dial("unix", path) // a program in another network namespace may listen
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

// HostListens reports whether a program of this host listens now at a port of its loopback: "localhost", or another
// loopback address. known is false where that cannot be seen.
func HostListens(host string, port int) (listens, known bool) {
	const dir = "/proc/self/net"
	if !sys.ShowsListeners(dir) {
		return false, false
	}
	return sys.LoopbackListeners(dir)(host, port), true
}
