package confine

import (
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watchLimits watches over the limits of a jail with namespaces, from outside of it,
// until it ends. It sees what the jail sees, by way of the init's root.
func (b *jailBuilder) watchLimits() {
	init, err := unix.Open("/proc/"+strconv.Itoa(b.process.PID())+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		if !b.process.isOver() {
			b.end() // a limit that nobody watches is none
		}
		return
	}
	defer unix.Close(init)
	root := "/proc/self/fd/" + strconv.Itoa(init)
	proc := root + "/proc"
	w := limitWatch{
		proc: proc, root: root, members: othersIn(proc),
		room:  b.roomForThreads,
		takes: func() bool { return true }, say: b.say,
		segments: b.segments,
		kill:     func(members []member) { killIn(proc, members) }, end: b.end,
		sleep: b.lastsFor,
	}
	if b.altered.watch != nil {
		b.altered.watch(&w)
	}
	watchLimits(b.order, w)
}

// roomForThreads is how many threads the server can have: RLIMIT_NPROC also counts those
// of the stub, for which it leaves some over.
func (b *jailBuilder) roomForThreads() int {
	processes := b.order.Limits.Processes
	if b.order.PidMax {
		return processes
	}
	return processes + max(0, stubTasks-b.tasks())
}

// tasks is how many the stub has, but for the one that became the server.
func (b *jailBuilder) tasks() int {
	if b.supervisor == nil {
		return 2
	}
	return 3 + int(b.supervisor.workers.Load())
}

// killIn ends processes that a /proc shows.
func killIn(proc string, members []member) {
	for _, m := range members {
		fd, err := unix.Open(path.Join(proc, m.pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // it has ended
		}
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		unix.Close(fd)
	}
}

// lastsFor waits, and tells whether the jail is still there.
func (b *jailBuilder) lastsFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.gone:
		return false
	case <-timer.C:
		return true
	}
}

// segments is the jail's list of SysV segments, which the kernel shows of the IPC
// namespace that asks.
func (b *jailBuilder) segments() (list []byte) {
	b.process.hand.mu.Lock()
	defer b.process.hand.mu.Unlock()
	t := b.process.hand.t
	fd, err := t.Openat(unix.AT_FDCWD, segmentsFile, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer t.Close(fd)
	chunk := make([]byte, 4096)
	for {
		n, err := t.Read(fd, chunk)
		if err != nil || n == 0 {
			return list
		}
		list = append(list, chunk[:n]...)
	}
}
