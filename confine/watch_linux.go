package confine

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	// The receiver, the workers, whoever runs, and whoever has a turn to receive a datagram.
	n := 1 + maxWorkers + 2*runsAtOnce + 1
	spareThreads(n, func() {
		<-s.watch
		bePunctual()
		s.watchLimits()
	})
	s.spare.close(nil)
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

// watchLimits watches over the limits from within a jail without namespaces. There is
// nobody else whom it could wait for, so it sleeps by itself.
func (s *shim) watchLimits() {
	watchLimits(s.order, limitWatch{
		proc: "/proc", members: descendants,
		segments: func() []byte { b, _ := os.ReadFile(segmentsFile); return b },
		room:     func() int { return s.order.Limits.Processes },
		takes:    s.isHeard, say: s.tell, kill: killMembers, end: s.endAll,
		sleep: func(d time.Duration) bool { sleep(d); return true },
	})
}

// limitWatch is how a jail is watched.
type limitWatch struct {
	proc     string // a /proc that shows its processes
	root     string // in front of its paths
	members  func() ([]string, error)
	segments func() []byte // its segmentsFile
	room     func() int    // how many threads the server can have
	takes    func() bool   // whether say would not wait
	say      func(message)
	kill     func([]member)
	end      func()                   // of the jail
	sleep    func(time.Duration) bool // false when the jail has ended
}

// watchLimits ends the largest processes of the jail while all of them together are
// over the limit of memory, the jail where that is of no use, and tells of limits
// that were reached. It is a sampler: the jail can be over a limit of memory for as
// long as the interval.
func watchLimits(o *order, jail limitWatch) {
	l := o.Limits
	if !o.FreshProc && !o.Bare || l.MemoryMB <= 0 && l.Processes <= 0 {
		return // no limit, or a gap that was waived
	}
	w := memoryWatch{proc: jail.proc, limit: int64(l.MemoryMB) << 20, members: jail.members, hidden: unmapped{segments: jail.segments}}
	if l.MemoryMB <= 0 {
		w.limit = 1 << 62
	}
	for _, m := range o.Mounts {
		if m.inMemory() {
			w.tmpfs = append(w.tmpfs, jail.root+m.path)
		}
	}
	var told reached
	late := unsaid{limitWatch: jail}
	pause := shortPause // while the server starts it needs the processors more
	for blind := 0; jail.sleep(pause); {
		late.tell()
		end, err := w.sample()
		if blind++; err == nil {
			blind = 0
		}
		if blind == maxBlind {
			// A limit that nobody watches is none.
			late.add(message{kind: saysLimit, step: keyMemory, detail: "memory, which cannot be watched (" + err.Error() + ")", num: l.MemoryMB})
			jail.end()
		}
		if len(end) > 0 {
			// One is told for all: how many there are is up to the server.
			pid, _ := strconv.Atoi(end[0].pid)
			late.add(message{kind: saysLimit, step: keyMemory, detail: "memory", num: l.MemoryMB, pid: pid, program: w.program(end[0].pid)})
		}
		if w.excess.lost() {
			late.add(message{kind: saysLimit, step: keyMemory, detail: "memory, which new processes take as fast as others are ended", num: l.MemoryMB})
			jail.end()
		}
		jail.kill(slices.Concat(end, w.excess.again))
		if l.Processes > 0 && w.threads >= jail.room() && told.again(keyProcesses) {
			late.add(message{kind: saysLimit, step: keyProcesses, detail: "processes", num: l.Processes})
		}
		if w.full != "" && l.MemoryMB > 0 && told.again(w.full) {
			late.add(message{kind: saysLimit, step: keyMemory, detail: "space in " + strings.TrimPrefix(w.full, jail.root), num: l.MemoryMB})
		}
		pause = w.pause()
		if l.Processes > 0 && w.threads > l.Processes/2 {
			pause = min(pause, max(100*time.Millisecond, shareOfTime*w.took))
		}
	}
}

// unsaid are messages that the launcher does not take: it may be stopped, and a server
// can fill the pipe. Whoever waited for that would not see to the limits.
type unsaid struct {
	limitWatch
	all []message
}

// mostUnsaid is how many wait; the next ones say nothing new.
const mostUnsaid = 16

func (u *unsaid) add(m message) {
	if len(u.all) < mostUnsaid {
		u.all = append(u.all, m)
	}
	u.tell()
}

func (u *unsaid) tell() {
	for len(u.all) > 0 && u.takes() {
		u.say(u.all[0])
		u.all = u.all[1:]
	}
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

// othersIn lists every process of a PID namespace but its first.
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
			if n, err := strconv.Atoi(name); err == nil && n > 1 {
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
