package mediate

import (
	"path"
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// nameLock keeps a path valid between its verdict and its use. A rename, which may move a
// directory, takes the lock for writing. All other operations take it for reading. Each jail has
// a lock of its own, so another jail can still move a directory: undoIfMoved and undoRename check
// again after the call.
type nameLock struct{ sync.RWMutex }

// perform decides a call, performs it and answers it. It returns false, without an answer,
// when the call has to be retried later.
func (m *Mediator) perform(r *Request) (answered bool) {
	w := &resolver{tid: int(r.N.Tid), private: true, open: openOutside, process: func() int { return m.processOf(r) }}
	if m.hostNS {
		defer unix.Chdir("/") // a working directory would keep the host from unmounting its filesystem
	}
	if m.keeper != nil {
		defer m.keeper.Begin()()
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

// openOutside opens the target of a magic link on a thread outside of the Landlock domain.
func openOutside(dir int, name string) (fd int, errno syscall.Errno) {
	sys.OnUnrestrictedThread(func() {
		var err error
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		errno = step.ErrnoOrEIO(err)
	})
	return fd, errno
}

// changeName performs the calls that create, move or remove names.
func (m *Mediator) changeName(r *Request, w *resolver) syscall.Errno {
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return m.recordMissing(r, 0, errno)
	}
	if r.Op == seccomp.OpRename || r.Op == seccomp.OpLink {
		to, errno := w.resolve(r.bases[1], r.names[1])
		defer to.close()
		if errno != 0 {
			return m.recordMissing(r, 1, errno)
		}
		if r.Op == seccomp.OpLink {
			return m.link(r, w, &at, &to)
		}
		return m.rename(r, &at, &to)
	}
	m.names.RLock()
	defer m.names.RUnlock()
	op := policy.OpCreate
	switch r.Op {
	case seccomp.OpMkdir:
		op = policy.OpMkdir
	case seccomp.OpRemove:
		op = policy.OpRemove
	}
	full, errno := m.judge(r, op, &at)
	if errno != 0 {
		return errno
	}
	m.keepName(&at, full, op == policy.OpRemove)
	errno = applyChange(r, &at)
	if errno == 0 && r.Op != seccomp.OpRemove {
		errno = m.undoIfMoved(r, op, &at, full)
	}
	return m.recordRefusalAt(r, op, &at, errno)
}

// undoIfMoved removes a new name when another jail moved its directory after the verdict to
// a path where the name must not exist.
func (m *Mediator) undoIfMoved(r *Request, op policy.Op, at *pathRef, judged string) syscall.Errno {
	full, errno := m.pathAt(at)
	if errno == 0 && (full == judged || m.decide(op, full, isLink(at)) == policy.Granted) {
		return 0
	}
	flags := 0
	if op == policy.OpMkdir {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(at.dir, at.name, flags)
	m.Reporter.Refused(r, op.String(), full)
	return unix.EACCES
}

// applyChange performs the call itself.
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

// judge decides about one name, and returns the path that it decided about. Like the kernel,
// it reports a missing or an existing name before it refuses.
func (m *Mediator) judge(r *Request, op policy.Op, at *pathRef) (full string, errno syscall.Errno) {
	if at.special() {
		return "", 0
	}
	if full, errno = m.pathAt(at); errno != 0 {
		return "", errno
	}
	verdict := m.decide(op, full, r.Op == seccomp.OpSymlink)
	switch {
	case verdict == policy.Granted:
		return full, 0
	case (op == policy.OpCreate || op == policy.OpMkdir) && exists(at):
		return full, unix.EEXIST
	case op == policy.OpRemove && !exists(at):
		return full, unix.ENOENT
	}
	return full, m.verdict(r, op.String(), full, at, verdict)
}

// decide returns the verdict about a name. link is set if it is to be a symbolic link.
func (m *Mediator) decide(op policy.Op, full string, link bool) policy.Verdict {
	if link && op == policy.OpCreate && m.profile.ProtectsFromLink(full) {
		return policy.Forbidden
	}
	return m.profile.Mediate(op, full)
}

// verdict returns the errno for a verdict, and reports a refusal. The errno is the one that a
// mount would give: EROFS below a read-only mount, EBUSY for a mount point, else EACCES.
func (m *Mediator) verdict(r *Request, operation, full string, at *pathRef, verdict policy.Verdict) syscall.Errno {
	switch {
	case verdict == policy.Granted:
		return 0
	case readOnly(at.dir):
		m.Reporter.Refused(r, operation, full)
		return unix.EROFS
	case verdict == policy.Pinned:
		m.Reporter.Refused(r, operation, full)
		return unix.EBUSY
	}
	m.Reporter.Refused(r, operation, full)
	return unix.EACCES
}

func readOnly(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// recordRefusal reports a refusal of the kernel that the profile explains, and returns errno.
func (m *Mediator) recordRefusal(r *Request, op policy.Op, full string, errno syscall.Errno) syscall.Errno {
	if (errno == unix.EACCES || errno == unix.EPERM || errno == unix.EROFS) && !m.profile.Allows(op, full) {
		m.Reporter.Refused(r, op.String(), full)
	}
	return errno
}

// recordRefusalAt is recordRefusal for a reference, whose directory may have moved meanwhile.
func (m *Mediator) recordRefusalAt(r *Request, op policy.Op, at *pathRef, errno syscall.Errno) syscall.Errno {
	if errno == 0 {
		return 0
	}
	if full, e := m.pathAt(at); e == 0 {
		return m.recordRefusal(r, op, full, errno)
	}
	return errno
}

// recordMissing reports a name whose directory does not exist in the jail, and returns errno.
// The launcher then looks whether it exists on the host, and so was not granted.
func (m *Mediator) recordMissing(r *Request, name int, errno syscall.Errno) syscall.Errno {
	if errno == unix.ENOENT && r.names[name][0] == '/' {
		if _, covered := m.profile.Find(path.Clean(r.names[name])); !covered {
			m.Reporter.reportAbsent(r, r.names[name])
		}
	}
	return errno
}

// exists reports whether a reference names an object.
func exists(at *pathRef) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
