package supervisor

import (
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/mediator"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// makeThreads starts all threads that this process will need, while the jail is being built:
// under the filter, and at the server's limit of threads, it may start none. One of them
// samples the limits. It sleeps in the kernel, because Go's timers would wake other threads.
func (s *Process) makeThreads() {
	n := 1 + mediator.MaxWorkers + 2*spec.MaxProcs // the receiver, the workers, and the goroutines that run
	if s.HostNS {
		n += 2 // the goroutine that retries a receive; the tracer, if the spec, not read yet, asks for it
	} else if s.Spec.Profile.ConstrainsStarts() {
		n++ // the tracer
	}
	sys.StartIdleThreads(n, func() {
		<-s.watch
		s.watchLimits()
	})
	close(s.threadsReady)
}

// maxFailedSamples is how many samples fail in a row before watchLimits ends the jail.
const maxFailedSamples = 5

// watchLimits samples the memory and the threads of the jail until the jail ends. It ends the
// jail when all processes together exceed the memory limit, unless a cgroup enforces that limit,
// and reports to the launcher which limits were reached. The jail can exceed a limit between two
// samples.
func (s *Process) watchLimits() {
	l := s.Spec.Limits
	if !s.Spec.FreshProc && !s.HostNS || l.MemoryMB <= 0 && l.Processes <= 0 {
		return // no limit is set, or the gap was waived
	}
	w := oomWatcher{Proc: sys.Dir, Limit: int64(l.MemoryMB) << 20, List: sys.JailProcesses(sys.Dir), Shared: int64(s.Spec.Shared), Locks: true, OwnIPC: !s.HostNS}
	if s.HostNS {
		w.List = sys.Descendants
	}
	if !s.Spec.SampleMemory {
		w.Limit = 1 << 62
	}
	w.Tmpfs = s.Spec.InMemory()
	var reported rateLimit
	var late eventQueue
	sys.Sleep(shortPause) // leave the processors to the start of the server
	for blind := 0; ; {
		late.flush(s.status)
		over, largest, err := w.Sample()
		if blind++; err == nil {
			blind = 0
		}
		if blind == maxFailedSamples {
			// Without samples the limit is not enforced.
			late.add(s.status, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory, Detail: "memory, which cannot be watched (" + err.Error() + ")", Num: l.MemoryMB})
			s.End()
		}
		if over {
			pid, _ := strconv.Atoi(largest)
			late.add(s.status, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory, Detail: "memory", Num: l.MemoryMB, Pid: sys.NSPid(pid), Program: w.program(largest)})
			s.End()
		}
		if l.Processes > 0 && w.Threads >= s.processesLeft(l.Processes) && reported.allow(spec.KeyProcesses) {
			late.add(s.status, spec.Event{Kind: spec.EventLimit, Step: spec.KeyProcesses, Detail: "processes", Num: l.Processes})
		}
		if w.Full != "" && l.MemoryMB > 0 && reported.allow(w.Full) {
			late.add(s.status, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory, Detail: "space in " + w.Full, Num: l.MemoryMB})
		}
		d := w.pause()
		if l.Processes > 0 && w.Threads > l.Processes/2 {
			d = min(d, max(100*time.Millisecond, shareOfTime*w.Took))
		}
		sys.Sleep(d)
	}
}

// eventQueue holds events while the pipe or socket to the launcher is full: the launcher may be
// stopped. The sampler queues them, because a blocked sampler would not enforce the limits.
type eventQueue []spec.Event

// maxQueued bounds the queue. Later events only repeat the queued ones, and are dropped.
const maxQueued = 16

func (u *eventQueue) add(w eventWriter, m spec.Event) {
	if len(*u) < maxQueued {
		*u = append(*u, m)
	}
	u.flush(w)
}

func (u *eventQueue) flush(w eventWriter) {
	for len(*u) > 0 && w.ready() {
		w.send((*u)[0])
		*u = (*u)[1:]
	}
}

// processesLeft returns how many threads the server can have. RLIMIT_NPROC includes an allowance
// of spec.SupervisorThreads for this process. The server can have the part of it that this
// process does not use.
func (s *Process) processesLeft(processes int) int {
	if s.Spec.PidMax || s.HostNS {
		return processes
	}
	return processes + max(0, spec.SupervisorThreads-len(sys.ReadDirNames(sys.Dir+"/self/task"))-1)
}

// rateLimit allows one event of each kind a second.
type rateLimit map[string]time.Time

func (r *rateLimit) allow(what string) bool {
	if *r == nil {
		*r = make(rateLimit)
	}
	now := time.Now()
	if now.Sub((*r)[what]) < time.Second {
		return false
	}
	(*r)[what] = now
	return true
}
