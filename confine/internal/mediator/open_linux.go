package mediator

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openFile opens a file for the caller and hands the descriptor over. It creates a missing
// file with O_EXCL. It opens an existing object with O_PATH first, decides about that object
// and reopens that object, so a name that changes meanwhile has no effect (TOCTOU). It returns
// false when the open must be retried later.
func (m *Mediator) openFile(r *request, w *resolver) (answered bool) {
	flags := r.openFlags()
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		m.listener.Respond(r.n.Id, m.judge.recordMissing(r, 0, errno))
		return true
	}
	fd, errno := m.openRef(r, w, &at, flags)
	switch errno {
	case 0:
		if flags&unix.O_ACCMODE != unix.O_RDONLY {
			m.listener.MoveFD(r.n.Id, fd, flags&unix.O_CLOEXEC != 0)
			break
		}
		m.listener.AddFD(r.n.Id, fd, flags&unix.O_CLOEXEC != 0)
		unix.Close(fd)
	case errAgain:
		return false
	default:
		m.listener.Respond(r.n.Id, errno)
	}
	return true
}

// errAgain stands for an open that would block. The call waits for a retry instead of
// blocking one of the few workers.
const errAgain = ^syscall.Errno(0)

func (m *Mediator) openRef(r *request, w *resolver, at *pathRef, flags int) (int, syscall.Errno) {
	if at.tail != "" && flags&unix.O_CREAT != 0 {
		return -1, unix.EISDIR
	}
	for range maxSymlinks + 8 { // a name can change between two iterations
		if w.inOtherProcess(at) {
			return -1, unix.EACCES
		}
		if tid := w.ownThreadName(at, flags); tid != 0 {
			return m.openThreadName(r, tid, flags)
		}
		o, errno := m.inspect(r, at, flags)
		switch {
		case errno == unix.ENOENT && flags&unix.O_CREAT != 0:
			fd, errno := m.createFile(r, at, flags)
			if errno == unix.EEXIST && flags&unix.O_EXCL == 0 {
				continue
			}
			return fd, errno
		case errno != 0:
			return -1, errno
		case o.kind != unix.S_IFLNK:
			defer o.close()
			return m.reopen(r, o, flags)
		}
		o.close()
		fd, errno := w.advance(at)
		if errno != 0 {
			return -1, m.judge.recordLost(r, policy.OpWrite.String(), at.dir, linkText(at), errno)
		}
		if fd >= 0 { // the target of a magic link
			return m.openFound(r, fd, flags)
		}
	}
	return -1, unix.ELOOP
}

func (m *Mediator) createFile(r *request, at *pathRef, flags int) (int, syscall.Errno) {
	m.names.RLock()
	defer m.names.RUnlock()
	full, errno := m.judge.decideName(r, policy.OpCreate, at)
	if errno != 0 {
		return -1, errno
	}
	if errno := m.Journal.Name(at.withPath(full)); errno != 0 {
		return -1, errno
	}
	unix.Umask(r.umask)
	fd, err := unix.Openat(at.dir, at.name, flags|unix.O_EXCL|unix.O_CLOEXEC, uint32(r.arg(r.Mode))) // O_EXCL follows no symlink
	errno = sys.ErrnoOrEIO(err)
	if errno == 0 {
		m.Journal.Made(fd, full)
		if errno = m.judge.undoIfMoved(r, policy.OpCreate, at, full); errno != 0 {
			unix.Close(fd)
			fd = -1
		}
	}
	return fd, m.judge.recordRefusalAt(r, policy.OpCreate, at, errno)
}

// truncate performs truncate(2). It returns EAGAIN when a lease must be broken first.
func (m *Mediator) truncate(r *request, w *resolver) syscall.Errno {
	size := int64(r.arg(1))
	if size < 0 {
		return unix.EINVAL
	}
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return m.judge.recordMissing(r, 0, errno)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && size > 0 && uint64(size) > limit.Cur {
		return unix.EFBIG
	}
	fd, errno := m.openRef(r, w, &at, unix.O_WRONLY|unix.O_NONBLOCK)
	switch {
	case errno == unix.ENXIO:
		return unix.EINVAL // a fifo or a socket
	case errno != 0:
		return errno
	}
	defer unix.Close(fd)
	return sys.ErrnoOrEIO(unix.Ftruncate(fd, size))
}

// ownThreadName returns the thread whose name an open would write, by its number in the jail, or
// 0. CUDA, JVMs and pthread_setname_np(3) name the threads of their process so. The reference is
// to /proc/PID/comm or /proc/PID/task/TID/comm of the calling process.
func (w *resolver) ownThreadName(at *pathRef, flags int) (tid int) {
	if !at.inProc || at.name != "comm" || at.tail != "" || flags&unix.O_ACCMODE == unix.O_RDONLY || isTmpfile(flags) {
		return 0
	}
	dir, errno := pathOf(at.dir)
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
func (m *Mediator) openThreadName(r *request, tid, flags int) (fd int, errno syscall.Errno) {
	if flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
		return -1, unix.EEXIST
	}
	sys.OnUnrestrictedThread(func() {
		caller := int(r.n.Tid)
		name := sys.ThreadFile(caller, "task/"+strconv.Itoa(threadOf(caller, tid))+"/comm")
		var err error
		fd, err = unix.Openat(sys.DirFD, name, flags&^unix.O_CREAT|unix.O_CLOEXEC, 0)
		errno = sys.ErrnoOrEIO(err)
	})
	return fd, errno
}

// threadOf returns the number here of the thread that has the number tid in the jail, in the
// process of the thread caller. It returns 0 if there is no such thread.
func threadOf(caller, tid int) int {
	own := sys.NSPid(caller)
	switch {
	case own == caller: // the jail has no numbers of its own
		return tid
	case own == tid:
		return caller
	}
	threads, _ := sys.Threads(sys.ThreadFile(caller, ""))
	for _, name := range threads {
		if t, err := strconv.Atoi(name); err == nil && sys.NSPid(t) == tid {
			return t
		}
	}
	return 0
}
