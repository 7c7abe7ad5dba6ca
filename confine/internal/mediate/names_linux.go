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

// nameLock keeps a path true between the moment it is judged and the moment it is
// used: whoever may move a directory is alone. Other jails have their own, so what
// was done is looked at once more, and taken back where one of them came between.
type nameLock struct{ sync.RWMutex }

// perform decides a call by its names, does it and answers it, unless it has to be
// tried again later.
func (v *Mediator) perform(r *Request) (answered bool) {
	w := &resolver{tid: int(r.N.Tid), private: true, open: openOutside, process: func() int { return v.processOf(r) }}
	if v.hostNS {
		defer unix.Chdir("/") // what it stands in is in use, to the host as well
	}
	switch r.Op {
	case seccomp.OpOpen:
		return v.openFile(r, w)
	case seccomp.OpTruncate:
		errno := v.truncate(r, w)
		if errno == unix.EAGAIN {
			return false // a process of the host holds a lease; the kernel has asked for it back
		}
		v.Listener.Respond(r.N.Id, errno)
	case seccomp.OpMode, seccomp.OpOwner, seccomp.OpTimes:
		v.Listener.Respond(r.N.Id, v.attributes(r, w))
	default:
		v.Listener.Respond(r.N.Id, v.changeName(r, w))
	}
	return true
}

// processOf is the number of the process that makes a call, 0 when it is no more.
func (v *Mediator) processOf(r *Request) int {
	if r.tgid == 0 {
		var errno syscall.Errno
		sys.OnUnrestrictedThread(func() { r.tgid, _, errno = proc.ThreadStatus(int(r.N.Tid)) })
		if errno != 0 || !v.Listener.Valid(r.N.Id) {
			r.tgid = -1
		}
	}
	return max(0, r.tgid)
}

// openOutside opens the target of a magic link.
func openOutside(dir int, name string) (fd int, errno syscall.Errno) {
	sys.OnUnrestrictedThread(func() {
		var err error
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		errno = step.ErrnoOrEIO(err)
	})
	return fd, errno
}

// changeName is every call that only makes, moves or removes names.
func (v *Mediator) changeName(r *Request, w *resolver) syscall.Errno {
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return v.recordMissing(r, 0, errno)
	}
	if r.Op == seccomp.OpRename || r.Op == seccomp.OpLink {
		to, errno := w.resolve(r.bases[1], r.names[1])
		defer to.close()
		if errno != 0 {
			return v.recordMissing(r, 1, errno)
		}
		if r.Op == seccomp.OpLink {
			return v.link(r, w, &at, &to)
		}
		return v.rename(r, &at, &to)
	}
	v.names.RLock()
	defer v.names.RUnlock()
	op := policy.OpCreate
	switch r.Op {
	case seccomp.OpMkdir:
		op = policy.OpMkdir
	case seccomp.OpRemove:
		op = policy.OpRemove
	}
	full, errno := v.judge(r, op, &at)
	if errno != 0 {
		return errno
	}
	errno = applyChange(r, &at)
	if errno == 0 && r.Op != seccomp.OpRemove {
		errno = v.undoIfMoved(r, op, &at, full)
	}
	return v.recordRefusalAt(r, op, &at, errno)
}

// undoIfMoved removes again what was made at a place whose directory has been moved, by
// another jail, from where it was judged to where it must not be.
func (v *Mediator) undoIfMoved(r *Request, op policy.Op, at *PathRef, judged string) syscall.Errno {
	full, errno := v.pathAt(at)
	if errno == 0 && (full == judged || v.profile.Mediate(op, full) == policy.Granted) {
		return 0
	}
	flags := 0
	if op == policy.OpMkdir {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(at.Dir, at.Name, flags)
	v.Reporter.Refused(r, op.String(), full)
	return unix.EACCES
}

// applyChange is the call itself.
func applyChange(r *Request, at *PathRef) syscall.Errno {
	name := at.Name + at.tail
	switch r.Op {
	case seccomp.OpMkdir:
		unix.Umask(r.umask)
		return step.ErrnoOrEIO(unix.Mkdirat(at.Dir, name, uint32(r.arg(r.Mode))))
	case seccomp.OpMknod:
		unix.Umask(r.umask)
		return step.ErrnoOrEIO(unix.Mknodat(at.Dir, name, uint32(r.arg(r.Mode)), int(r.arg(r.Mode+1))))
	case seccomp.OpSymlink:
		return step.ErrnoOrEIO(unix.Symlinkat(r.text, at.Dir, name))
	case seccomp.OpRemove:
		return step.ErrnoOrEIO(unix.Unlinkat(at.Dir, name, r.removeFlags()))
	}
	return unix.ENOSYS
}

func (r *Request) removeFlags() int {
	if r.Call == "rmdir" {
		return unix.AT_REMOVEDIR
	}
	return int(int32(r.arg(r.Flags)))
}

// judge decides one name, and tells the path that it judged.
func (v *Mediator) judge(r *Request, op policy.Op, at *PathRef) (full string, errno syscall.Errno) {
	if at.special() {
		return "", 0
	}
	if full, errno = v.pathAt(at); errno != 0 {
		return "", errno
	}
	verdict := v.profile.Mediate(op, full)
	switch {
	case verdict == policy.Granted:
		return full, 0
	case (op == policy.OpCreate || op == policy.OpMkdir) && Exists(at):
		return full, unix.EEXIST
	case op == policy.OpRemove && !Exists(at):
		return full, unix.ENOENT
	}
	return full, v.verdict(r, op.String(), full, at, verdict)
}

// verdict turns a decision into the error that the kernel would give if a mount
// could hold it, and records it.
func (v *Mediator) verdict(r *Request, operation, full string, at *PathRef, verdict policy.Verdict) syscall.Errno {
	switch {
	case verdict == policy.Granted:
		return 0
	case readOnly(at.Dir):
		v.Reporter.Refused(r, operation, full)
		return unix.EROFS
	case verdict == policy.Pinned:
		v.Reporter.Refused(r, operation, full)
		return unix.EBUSY
	}
	v.Reporter.Refused(r, operation, full)
	return unix.EACCES
}

func readOnly(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// recordRefusal records what the kernel refused, where that is what the profile wants, and
// returns its answer.
func (v *Mediator) recordRefusal(r *Request, op policy.Op, full string, errno syscall.Errno) syscall.Errno {
	if (errno == unix.EACCES || errno == unix.EPERM || errno == unix.EROFS) && !v.profile.Allows(op, full) {
		v.Reporter.Refused(r, op.String(), full)
	}
	return errno
}

// recordRefusalAt is told of a place that may have moved meanwhile.
func (v *Mediator) recordRefusalAt(r *Request, op policy.Op, at *PathRef, errno syscall.Errno) syscall.Errno {
	if errno == 0 {
		return 0
	}
	if full, e := v.pathAt(at); e == 0 {
		return v.recordRefusal(r, op, full, errno)
	}
	return errno
}

// recordMissing records a name whose directory does not exist in the jail. Whether that is
// because it was not granted, only the host can tell.
func (v *Mediator) recordMissing(r *Request, name int, errno syscall.Errno) syscall.Errno {
	if errno == unix.ENOENT && r.names[name][0] == '/' {
		if _, covered := v.profile.Find(path.Clean(r.names[name])); !covered {
			v.Reporter.isAbsent(r, r.names[name])
		}
	}
	return errno
}

func Exists(at *PathRef) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.Dir, at.Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
