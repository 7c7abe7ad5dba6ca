package confine

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// makeThreads makes all threads that the init will need, while the jail is being
// built. The one that will watch over the limits exists before the server does, so
// that the filter can keep the server's hands off it (see guardThreads), and it
// sleeps by itself rather than by the runtime's timers, which other threads would
// have to serve.
func (s *shim) makeThreads() {
	n := 1 + maxWorkers + 2*runsAtOnce // the receiver, the workers, and whoever runs
	if s.bare {
		n++ // whoever has a turn to receive a datagram
	}
	spareThreads(n, func() {
		<-s.watch
		s.watchLimits()
	})
	close(s.spare)
}

// spareThreads makes threads that the runtime keeps for when it needs some. It ends
// the program where it cannot have one, and with the init the jail: a server that has
// taken all there are must not bring that about. The leader, the one that builds the
// jail and reaps, and the runtime's own two are there already. Of those that run Go code,
// runsAtOnce at most, each may be about to hand over to another: a thread that has done so
// and does not sleep yet is of no use to the runtime. One more is kept for f.
func spareThreads(n int, f func()) {
	n++
	var there, gone sync.WaitGroup
	there.Add(n)
	gone.Add(n)
	for i := range n {
		go func() {
			// A goroutine that is bound to a thread and waits keeps it from the others.
			runtime.LockOSThread()
			there.Done()
			there.Wait()
			if i == 0 {
				gone.Done()
				f()
			}
			runtime.UnlockOSThread()
			if i > 0 {
				gone.Done()
			}
		}()
	}
	gone.Wait()
}

// maxBlind is how many samples in a row may fail before the jail is ended.
const maxBlind = 5

// watchLimits ends the largest processes of the jail while all of them together are
// over the limit of memory, the jail where that is of no use, and tells of limits
// that were reached. It is a sampler: the jail can be over a limit of memory for as
// long as the interval.
func (s *shim) watchLimits() {
	l := s.order.Limits
	if !s.order.FreshProc && !s.bare || l.MemoryMB <= 0 && l.Processes <= 0 {
		return // no limit, or a gap that was waived
	}
	w := memoryWatch{proc: procDir, limit: int64(l.MemoryMB) << 20, members: othersIn(procDir)}
	if s.bare {
		w.members = descendants
	}
	if s.order.Shared > 0 {
		w.hidden.floor, w.hidden.known = int64(s.order.Shared), true
	}
	if l.MemoryMB <= 0 {
		w.limit = 1 << 62
	}
	for _, m := range s.order.Mounts {
		if m.inMemory() {
			w.tmpfs = append(w.tmpfs, m.path)
		}
	}
	var told reached
	var late unsaid
	sleep(shortPause) // while the server starts it needs the processors more
	for blind := 0; ; {
		late.tell(s)
		end, err := w.sample()
		if blind++; err == nil {
			blind = 0
		}
		if blind == maxBlind {
			// A limit that nobody watches is none.
			late.say(s, message{kind: saysLimit, step: keyMemory, detail: "memory, which cannot be watched (" + err.Error() + ")", num: l.MemoryMB})
			s.end()
		}
		if len(end) > 0 {
			// One is told for all: how many there are is up to the server.
			pid, _ := strconv.Atoi(end[0].pid)
			late.say(s, message{kind: saysLimit, step: keyMemory, detail: "memory", num: l.MemoryMB, pid: innerNumber(pid), program: w.program(end[0].pid)})
		}
		if w.excess.lost() {
			late.say(s, message{kind: saysLimit, step: keyMemory, detail: "memory, which new processes take as fast as others are ended", num: l.MemoryMB})
			s.end()
		}
		s.killMembers(slices.Concat(end, w.excess.again))
		if l.Processes > 0 && w.threads >= s.roomFor(l.Processes) && told.again(keyProcesses) {
			late.say(s, message{kind: saysLimit, step: keyProcesses, detail: "processes", num: l.Processes})
		}
		if w.full != "" && l.MemoryMB > 0 && told.again(w.full) {
			late.say(s, message{kind: saysLimit, step: keyMemory, detail: "space in " + w.full, num: l.MemoryMB})
		}
		d := w.pause()
		if l.Processes > 0 && w.threads > l.Processes/2 {
			d = min(d, max(100*time.Millisecond, shareOfTime*w.took))
		}
		sleep(d)
	}
}

// unsaid are messages that the launcher does not take: it may be stopped, and a server
// can fill the pipe. Whoever waited for that would not see to the limits.
type unsaid []message

// mostUnsaid is how many wait; the next ones say nothing new.
const mostUnsaid = 16

func (u *unsaid) say(s *shim, m message) {
	if len(*u) < mostUnsaid {
		*u = append(*u, m)
	}
	u.tell(s)
}

func (u *unsaid) tell(s *shim) {
	for len(*u) > 0 && s.isHeard() {
		s.say((*u)[0])
		*u = (*u)[1:]
	}
}

// roomFor is how many threads the server can have: RLIMIT_NPROC also counts those of
// the init, for which it leaves some over.
func (s *shim) roomFor(processes int) int {
	if s.order.PidMax || s.bare {
		return processes
	}
	return processes + max(0, initThreads-len(namesIn(procDir+"/self/task"))-1)
}

// The keys of the limits that the jail itself can see to be reached.
const (
	keyMemory    = "memory_mb"
	keyProcesses = "processes"
)

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

// innerInit is the number of a jail's init for its supervisor, who is 1.
const innerInit = 2

// othersIn lists every process of a jail but its supervisor and its init.
func othersIn(proc string) func() ([]string, error) {
	return func() ([]string, error) {
		dir, err := os.Open(proc)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		names, err := dir.Readdirnames(-1)
		pids := names[:0]
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil && n > innerInit {
				pids = append(pids, name)
			}
		}
		return pids, err
	}
}

func sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
