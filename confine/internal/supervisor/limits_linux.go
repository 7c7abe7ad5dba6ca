package supervisor

import (
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/mediate"
	"github.com/mcp-jail/mcp-jail/confine/internal/oom"
	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// makeThreads makes all threads that the init will need, while the jail is being
// built. The one that will watch over the limits exists before the server does, so
// that the filter can keep the server's hands off it (see guardThreads), and it
// sleeps by itself rather than by the runtime's timers, which other threads would
// have to serve.
func (s *Process) makeThreads() {
	n := 1 + mediate.MaxWorkers + 2*spec.MaxProcs // the receiver, the workers, and whoever runs
	if s.HostNS {
		n++ // whoever has a turn to receive a datagram
	}
	sys.StartSpareThreads(n, func() {
		<-s.watch
		s.watchLimits()
	})
	close(s.spare)
}

// maxFailedSamples is how many samples in a row may fail before the jail is ended.
const maxFailedSamples = 5

// watchLimits samples what the jail uses. It ends the jail when all processes together exceed
// the limit of memory, unless a cgroup holds that limit, and tells the launcher which limits
// were reached. The jail can exceed its limit between two samples.
func (s *Process) watchLimits() {
	l := s.Spec.Limits
	if !s.Spec.FreshProc && !s.HostNS || l.MemoryMB <= 0 && l.Processes <= 0 {
		return // no limit, or a gap that was waived
	}
	w := oom.Watcher{Proc: procpkg.Dir, Limit: int64(l.MemoryMB) << 20, List: procpkg.JailProcesses(procpkg.Dir), Shared: int64(s.Spec.Shared)}
	if s.HostNS {
		w.List = procpkg.Descendants
	}
	if !s.Spec.SampleMemory {
		w.Limit = 1 << 62
	}
	for _, m := range s.Spec.Mounts {
		if m.InMemory() {
			w.Tmpfs = append(w.Tmpfs, m.Path)
		}
	}
	var told rateLimit
	var late eventQueue
	sys.Sleep(oom.ShortPause) // while the server starts it needs the processors more
	for blind := 0; ; {
		late.flush(s)
		over, largest, err := w.Sample()
		if blind++; err == nil {
			blind = 0
		}
		if blind == maxFailedSamples {
			// The sampler cannot hold a limit that it cannot watch.
			late.add(s, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory, Detail: "memory, which cannot be watched (" + err.Error() + ")", Num: l.MemoryMB})
			s.End()
		}
		if over {
			pid, _ := strconv.Atoi(largest)
			late.add(s, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory, Detail: "memory", Num: l.MemoryMB, Pid: procpkg.NSPid(pid), Program: w.Program(largest)})
			s.End()
		}
		if l.Processes > 0 && w.Threads >= s.processesLeft(l.Processes) && told.allow(spec.KeyProcesses) {
			late.add(s, spec.Event{Kind: spec.EventLimit, Step: spec.KeyProcesses, Detail: "processes", Num: l.Processes})
		}
		if w.Full != "" && l.MemoryMB > 0 && told.allow(w.Full) {
			late.add(s, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory, Detail: "space in " + w.Full, Num: l.MemoryMB})
		}
		d := w.Pause()
		if l.Processes > 0 && w.Threads > l.Processes/2 {
			d = min(d, max(100*time.Millisecond, oom.ShareOfTime*w.Took))
		}
		sys.Sleep(d)
	}
}

// eventQueue are messages that the launcher does not take: it may be stopped, and a server
// can fill the pipe. Whoever waited for that would not see to the limits.
type eventQueue []spec.Event

// maxQueued is how many wait; the next ones say nothing new.
const maxQueued = 16

func (u *eventQueue) add(s *Process, m spec.Event) {
	if len(*u) < maxQueued {
		*u = append(*u, m)
	}
	u.flush(s)
}

func (u *eventQueue) flush(s *Process) {
	for len(*u) > 0 && s.launcherReads() {
		s.Send((*u)[0])
		*u = (*u)[1:]
	}
}

// processesLeft is how many threads the server can have: RLIMIT_NPROC also counts those of
// the init, for which it leaves some over.
func (s *Process) processesLeft(processes int) int {
	if s.Spec.PidMax || s.HostNS {
		return processes
	}
	return processes + max(0, spec.InitThreads-len(procpkg.ReadDirNames(procpkg.Dir+"/self/task"))-1)
}

// rateLimit keeps from telling the same thing more than once a second.
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
