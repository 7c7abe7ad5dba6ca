package mediate

import (
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// nameLock keeps a path valid between its verdict and its use. A rename, which may move a
// directory, takes the lock for writing. All other operations take it for reading. Each jail has
// a lock of its own, so another jail can still move a directory: undoIfMoved and undoRename check
// again after the call.
type nameLock struct{ sync.RWMutex }

// perform decides a call, performs it and answers it. It returns false, without an answer,
// when the call must be retried later.
func (m *Mediator) perform(r *Request) (answered bool) {
	w := &resolver{tid: int(r.N.Tid), open: openOutside, process: func() int { return m.processOf(r) }}
	if r.continues {
		m.watchRead(r, w)
		m.Listener.Continue(r.N.Id)
		return true
	}
	switch r.Op {
	case seccomp.OpOpen:
		return m.openFile(r, w)
	case seccomp.OpTruncate:
		errno := m.truncate(r, w)
		if errno == unix.EAGAIN {
			return false // a process of the host holds a lease, which the kernel is breaking now
		}
		m.Listener.Respond(r.N.Id, errno)
	case seccomp.OpMode, seccomp.OpOwner, seccomp.OpTimes:
		m.Listener.Respond(r.N.Id, m.attributes(r, w))
	default:
		m.Listener.Respond(r.N.Id, m.changeName(r, w))
	}
	return true
}

// processOf returns the ID of the process that makes a call, or 0 when it has ended.
func (m *Mediator) processOf(r *Request) int {
	if r.tgid == 0 {
		var errno syscall.Errno
		sys.OnUnrestrictedThread(func() { r.tgid, _, errno = proc.ThreadStatus(int(r.N.Tid)) })
		if errno != 0 || !m.Listener.Valid(r.N.Id) {
			r.tgid = -1
		}
	}
	return max(0, r.tgid)
}

func openOutside(dir int, name string) (fd int, errno syscall.Errno) {
	sys.OnUnrestrictedThread(func() {
		var err error
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		errno = step.ErrnoOrEIO(err)
	})
	return fd, errno
}

func (m *Mediator) changeName(r *Request, w *resolver) syscall.Errno {
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 && r.Op != seccomp.OpLink {
		return m.judge.recordMissing(r, 0, errno)
	}
	if r.Op == seccomp.OpRename || r.Op == seccomp.OpLink {
		to, refused := w.resolve(r.bases[1], r.names[1])
		defer to.close()
		name := 0
		if errno == 0 || errno == refused { // where both names of a link are missing, the new one tells more
			name, errno = 1, refused
		}
		if errno != 0 {
			return m.judge.recordMissing(r, name, errno)
		}
		if r.Op == seccomp.OpLink {
			return m.link(r, w, &at, &to)
		}
		return m.rename(r, &at, &to)
	}
	// From the verdict to the act no rename of this jail may move the directory.
	m.names.RLock()
	defer m.names.RUnlock()
	op := opOf(r.Op)
	full, errno := m.judge.decideName(r, op, &at)
	if errno != 0 {
		return errno
	}
	if errno := m.journal.name(&at, full); errno != 0 {
		return errno
	}
	errno = applyChange(r, &at)
	if errno == 0 && r.Op != seccomp.OpRemove {
		errno = m.judge.undoIfMoved(r, op, &at, full)
	}
	return m.judge.recordRefusalAt(r, op, &at, errno)
}

func applyChange(r *Request, at *pathRef) syscall.Errno {
	name := at.name + at.tail
	switch r.Op {
	case seccomp.OpMkdir:
		unix.Umask(r.umask)
		return step.ErrnoOrEIO(unix.Mkdirat(at.dir, name, uint32(r.arg(r.Mode))))
	case seccomp.OpMknod:
		unix.Umask(r.umask)
		return step.ErrnoOrEIO(unix.Mknodat(at.dir, name, uint32(r.arg(r.Mode)), int(r.arg(r.Mode+1))))
	case seccomp.OpSymlink:
		return step.ErrnoOrEIO(unix.Symlinkat(r.text, at.dir, name))
	case seccomp.OpRemove:
		return step.ErrnoOrEIO(unix.Unlinkat(at.dir, name, r.removeFlags()))
	}
	return unix.ENOSYS
}

func (r *Request) removeFlags() int {
	if r.Call == "rmdir" {
		return unix.AT_REMOVEDIR
	}
	return int(int32(r.arg(r.Flags)))
}
