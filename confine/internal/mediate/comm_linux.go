package mediate

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// ownThreadName returns the thread whose name an open would write, by its number in the jail, or
// 0. CUDA, JVMs and pthread_setname_np(3) name the threads of their process so. The reference is
// to /proc/PID/comm or /proc/PID/task/TID/comm of the calling process.
func (w *resolver) ownThreadName(at *pathRef, flags int) (tid int) {
	if !at.inProc || at.name != "comm" || at.tail != "" || flags&unix.O_ACCMODE == unix.O_RDONLY || isTmpfile(flags) {
		return 0
	}
	dir, errno := at.path()
	if errno != 0 {
		return 0
	}
	pid, thread, isThread := strings.Cut(strings.TrimPrefix(dir, "/proc/"), "/task/")
	if pid != strconv.Itoa(w.process()) {
		return 0
	}
	if !isThread {
		thread = pid
	}
	tid, _ = strconv.Atoi(thread)
	return tid
}

// openThreadName opens the comm file of a thread of the calling process, past the jail's own
// read-only /proc. The kernel decides again when the file is written: a process can name its own
// threads only, whichever process opened the file (proc_pid_comm(5)).
func (m *Mediator) openThreadName(r *Request, tid, flags int) (fd int, errno syscall.Errno) {
	if flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
		return -1, unix.EEXIST
	}
	sys.OnUnrestrictedThread(func() {
		caller := int(r.N.Tid)
		name := proc.ThreadFile(caller, "task/"+strconv.Itoa(threadOf(caller, tid))+"/comm")
		var err error
		fd, err = unix.Openat(proc.DirFD, name, flags&^unix.O_CREAT|unix.O_CLOEXEC, 0)
		errno = step.ErrnoOrEIO(err)
	})
	return fd, errno
}

// threadOf returns the number here of the thread that has the number tid in the jail, in the
// process of the thread caller. It returns 0 if there is no such thread.
func threadOf(caller, tid int) int {
	own := proc.NSPid(caller)
	switch {
	case own == caller: // the jail has no numbers of its own
		return tid
	case own == tid:
		return caller
	}
	threads, _ := proc.Threads(proc.ThreadFile(caller, ""))
	for _, name := range threads {
		if t, err := strconv.Atoi(name); err == nil && proc.NSPid(t) == tid {
			return t
		}
	}
	return 0
}
