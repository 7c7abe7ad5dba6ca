package confine

import (
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// Process is a program in its jail.
type Process struct {
	Mu       sync.Mutex
	pid      int // of the jail's init, as the host sees it
	Pidfd    int
	control  *os.File        // the init's socket: its order, then signals, a byte each
	events   *eventReader    // the init's; nil before there is an order
	notices  []Notice        // that nobody was told
	onNotice func(Notice)    // see Tell
	denials  []policy.Denial // but those that a supervisor saw
	refused  denialLog       // which it saw
	exit     Exit
	exited   bool       // exit is what the init saw
	why      string     // see Exit
	watched  bool       // there is a supervisor, who may have something to tell
	killed   bool       // Kill came, perhaps before there was anything to kill
	plan     *plan.Plan // what it was started by
	initGone bool       // its init is no PID 1, and must be asked to end the others
	Tmp      string
	last     *time.Timer // ends the init that did not end the others
	done     chan struct{}
	killing  sync.Once
	inCgroup bool // it leaves something behind that is ours to remove

	gateway     *egress.Gateway      // nil where no host is granted
	broker      *gateway.Broker      // nil where its init does not ask
	Interceptor *gateway.Interceptor // nil where no request is looked at
	inbound     *gateway.Inbound     // nil where no port leads into the jail
	packets     []int                // keep its packet socket: see gateway.CloseInKernel

	Cgroup *cgroup.Cgroup // while there is something to see in it
	Limits policy.Limits
}

// listen hears what the shim says until it ends. It returns the error of a start
// that failed; started gets nil as soon as the program runs.
func (p *Process) listen(status *os.File, started chan<- error) error {
	var running bool
	var failed error
	w, err := newEventReader(status, func(m spec.Event) {
		switch m.Kind {
		case spec.EventStarted:
			running = true
			started <- nil
		case spec.EventFailed:
			failed = &step.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}
		default:
			p.HandleEvent(m)
		}
	})
	if err != nil {
		return err
	}
	p.Mu.Lock()
	p.events = w
	p.Mu.Unlock()
	w.run()
	if !running && failed == nil {
		failed = &step.Error{Step: "init", Detail: "the shim ended without saying why, as Go's programs do where the limits of processes, memory or open files are too low (ulimit -a)"}
	}
	return failed
}

func (p *Process) HandleEvent(m spec.Event) {
	if m.Kind == spec.EventAbsent && !p.isRefusal(m) {
		return
	}
	if m.Kind == spec.EventNote {
		p.notify(Notice{Text: m.Detail})
		return
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	switch m.Kind {
	case spec.EventSupervisor:
		p.watched = true
		p.superviseCgroup()
	case spec.EventFailed: // of a supervisor, whose jail ends
		p.why = (&step.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}).Error()
	case spec.EventLimit:
		p.denials = limitReached(p.denials, m.Step, m.Detail, m.Num, m.Pid, m.Program)
	case spec.EventRefused, spec.EventAbsent:
		p.refused.add(m, time.Now())
	case spec.EventExit:
		p.exit, p.exited = Exit{Code: m.Num, Signal: syscall.Signal(m.Pid)}, true
		if m.Detail == spec.ExitedAlone && p.gateway == nil && p.inbound == nil && !p.inCgroup {
			p.markDone() // what is left to be done is the kernel's
		}
	}
}

// recordFailure records why there is no jail any more, and so no server: unless there is an exit,
// somebody had it ended, or has said why.
func (p *Process) recordFailure(why string) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.lookIntoCgroup()
	memory := func(d policy.Denial) bool {
		return d.Axis == policy.AxisLimits && strings.HasPrefix(d.Target, spec.KeyMemory+" ")
	}
	if !p.exited && !p.killed && p.why == "" && !slices.ContainsFunc(p.denials, memory) {
		p.why = why
	}
}

func (p *Process) IsSupervised() bool {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.watched
}

// markDone tells who waits.
func (p *Process) markDone() { p.killing.Do(func() { close(p.done) }) }

func (p *Process) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// isRefusal tells whether it was the jail that does not have a name. What became of names
// that were not told apart, nobody knows, and the record says so.
func (p *Process) isRefusal(m spec.Event) bool {
	p.Mu.Lock()
	known := p.refused.knows(m)
	p.Mu.Unlock()
	return known || m.Target == policy.DenialOthers || withTimeout(func() bool { return onHost(m) })
}

// onHost tells whether what does not exist in the jail exists here: only then was it
// refused. The name is the server's choice.
func onHost(m spec.Event) bool {
	if _, err := os.Lstat(path.Dir(m.Target)); err != nil {
		return false
	}
	if m.Detail != "connect" {
		return true
	}
	_, err := os.Lstat(m.Target)
	return err == nil
}

// pendingTrace are lookups that have not come back, each of which keeps a thread.
var pendingTrace atomic.Int32

const mostAsking = 8

// withTimeout is f, or false when that takes long: a name can lead to a filesystem whose
// other end is gone, and what the init has to say comes through here.
func withTimeout(f func() bool) bool {
	if pendingTrace.Load() >= mostAsking {
		return false
	}
	answer := make(chan bool, 1)
	pendingTrace.Add(1)
	go func() {
		defer pendingTrace.Add(-1)
		answer <- f()
	}()
	select {
	case a := <-answer:
		return a
	case <-time.After(200 * time.Millisecond):
		return false
	}
}

// PID is the process number of the jail's init on the host.
func (p *Process) PID() int {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.pid
}

// Signal passes a signal on to the program. SIGKILL ends the whole jail.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return syscall.EINVAL
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Pidfd < 0 || p.isDone() {
		return os.ErrProcessDone
	}
	if s == syscall.SIGKILL && p.initGone {
		return p.killHostNS()
	}
	if s == syscall.SIGKILL {
		return unix.PidfdSendSignal(p.Pidfd, s, nil, 0)
	}
	if s <= 0 || s > 64 {
		return syscall.EINVAL
	}
	_, err := p.control.Write([]byte{byte(s)})
	return err
}

// Plan is what the process was started by: what holds for it, and which gaps were
// accepted.
func (p *Process) Plan() *plan.Plan { return p.plan }

// Kill ends every process of the jail at once: the kernel does it when the init
// of a PID namespace dies (pid_namespaces(7)).
func (p *Process) Kill() error {
	p.Mu.Lock()
	p.killed = true
	p.Mu.Unlock()
	return p.Signal(syscall.SIGKILL)
}

// Done is closed when every process of the jail is gone. The init may still be ending,
// and the kernel about to free the jail's namespaces, for a moment.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the program ended, once every process of the jail is gone.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	p.Mu.Lock()
	defer p.Mu.Unlock()
	exit := p.exit
	exit.Why = p.why
	return exit, nil
}

// Denials are the refusals that the jail recorded so far.
func (p *Process) Denials() []policy.Denial {
	p.Mu.Lock()
	words, gate := p.events, p.gateway
	p.Mu.Unlock()
	if words != nil {
		words.drain()
	}
	var latest []policy.Denial
	if gate != nil {
		latest = networkDenials(gate, p.plan.Profile.Inbound)
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.lookIntoCgroup()
	latest = append(append(latest, p.denials...), p.refused.list(time.Now())...)
	slices.SortStableFunc(latest, func(a, b policy.Denial) int { return a.Time.Compare(b.Time) })
	return latest
}

// OnNotice has whom told what the jail remarks about itself: what it has remarked already, and
// from now on as it comes.
func (p *Process) OnNotice(whom func(Notice)) {
	p.Mu.Lock()
	earlier := p.notices
	p.onNotice, p.notices = whom, nil
	p.Mu.Unlock()
	for _, r := range earlier {
		whom(r)
	}
}

func (p *Process) notify(r Notice) {
	p.Mu.Lock()
	tell := p.onNotice
	if tell == nil {
		p.notices = append(p.notices, r)
	}
	p.Mu.Unlock()
	if tell != nil {
		tell(r)
	}
}

// Undumpable keeps the user's other processes from reading the memory and the
// environment of the calling one (PR_SET_DUMPABLE in prctl(2)). A program that
// holds the secrets of its servers calls it once the first of them has started.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
