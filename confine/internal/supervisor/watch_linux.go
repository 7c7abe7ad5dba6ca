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
func (s *Shim) makeThreads() {
	n := 1 + mediate.MaxWorkers + 2*spec.RunsAtOnce // the receiver, the workers, and whoever runs
	if s.Bare {
		n++ // whoever has a turn to receive a datagram
	}
	sys.StartSpareThreads(n, func() {
		<-s.watch
		s.watchLimits()
	})
	close(s.spare)
}

// maxBlind is how many samples in a row may fail before the jail is ended.
const maxBlind = 5

// watchLimits samples what the jail uses. It ends the jail when all processes together exceed
// the limit of memory, unless a cgroup holds that limit, and tells the launcher which limits
// were reached. The jail can exceed its limit between two samples.
func (s *Shim) watchLimits() {
	l := s.Order.Limits
	if !s.Order.FreshProc && !s.Bare || l.MemoryMB <= 0 && l.Processes <= 0 {
		return // no limit, or a gap that was waived
	}
	w := oom.Watcher{Proc: procpkg.Dir, Limit: int64(l.MemoryMB) << 20, List: procpkg.JailProcesses(procpkg.Dir), Shared: int64(s.Order.Shared)}
	if s.Bare {
		w.List = procpkg.Descendants
	}
	if !s.Order.SampleMemory {
		w.Limit = 1 << 62
	}
	for _, m := range s.Order.Mounts {
		if m.InMemory() {
			w.Tmpfs = append(w.Tmpfs, m.Path)
		}
	}
	var told reached
	var late unsaid
	sys.Sleep(oom.ShortPause) // while the server starts it needs the processors more
	for blind := 0; ; {
		late.tell(s)
		over, largest, err := w.Sample()
		if blind++; err == nil {
			blind = 0
		}
		if blind == maxBlind {
			// The sampler cannot hold a limit that it cannot watch.
			late.say(s, spec.Message{Kind: spec.SaysLimit, Step: spec.KeyMemory, Detail: "memory, which cannot be watched (" + err.Error() + ")", Num: l.MemoryMB})
			s.End()
		}
		if over {
			pid, _ := strconv.Atoi(largest)
			late.say(s, spec.Message{Kind: spec.SaysLimit, Step: spec.KeyMemory, Detail: "memory", Num: l.MemoryMB, Pid: procpkg.NSPid(pid), Program: w.Program(largest)})
			s.End()
		}
		if l.Processes > 0 && w.Threads >= s.roomFor(l.Processes) && told.again(spec.KeyProcesses) {
			late.say(s, spec.Message{Kind: spec.SaysLimit, Step: spec.KeyProcesses, Detail: "processes", Num: l.Processes})
		}
		if w.Full != "" && l.MemoryMB > 0 && told.again(w.Full) {
			late.say(s, spec.Message{Kind: spec.SaysLimit, Step: spec.KeyMemory, Detail: "space in " + w.Full, Num: l.MemoryMB})
		}
		d := w.Pause()
		if l.Processes > 0 && w.Threads > l.Processes/2 {
			d = min(d, max(100*time.Millisecond, oom.ShareOfTime*w.Took))
		}
		sys.Sleep(d)
	}
}

// unsaid are messages that the launcher does not take: it may be stopped, and a server
// can fill the pipe. Whoever waited for that would not see to the limits.
type unsaid []spec.Message

// mostUnsaid is how many wait; the next ones say nothing new.
const mostUnsaid = 16

func (u *unsaid) say(s *Shim, m spec.Message) {
	if len(*u) < mostUnsaid {
		*u = append(*u, m)
	}
	u.tell(s)
}

func (u *unsaid) tell(s *Shim) {
	for len(*u) > 0 && s.isHeard() {
		s.Say((*u)[0])
		*u = (*u)[1:]
	}
}

// roomFor is how many threads the server can have: RLIMIT_NPROC also counts those of
// the init, for which it leaves some over.
func (s *Shim) roomFor(processes int) int {
	if s.Order.PidMax || s.Bare {
		return processes
	}
	return processes + max(0, spec.InitThreads-len(procpkg.ReadDirNames(procpkg.Dir+"/self/task"))-1)
}

// reached keeps from telling the same thing more than once a second.
type reached map[string]time.Time

func (r *reached) again(what string) bool {
	if *r == nil {
		*r = make(reached)
	}
	now := time.Now()
	if now.Sub((*r)[what]) < time.Second {
		return false
	}
	(*r)[what] = now
	return true
}
