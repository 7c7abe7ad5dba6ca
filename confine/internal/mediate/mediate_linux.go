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

// carryOut decides a call by its names, does it and answers it, unless it has to be
// tried again later.
func (v *Supervisor) carryOut(r *Request) (answered bool) {
	w := &walker{tid: int(r.N.Tid), own: true, open: openOutside, process: func() int { return v.processOf(r) }}
	if v.bare {
		defer unix.Chdir("/") // what it stands in is in use, to the host as well
	}
	switch r.Op {
	case seccomp.HookOpen:
		return v.openFile(r, w)
	case seccomp.HookTruncate:
		errno := v.truncate(r, w)
		if errno == unix.EAGAIN {
			return false // a process of the host holds a lease; the kernel has asked for it back
		}
		v.Listener.Finish(r.N.Id, errno)
	case seccomp.HookMode, seccomp.HookOwner, seccomp.HookTimes:
		v.Listener.Finish(r.N.Id, v.attributes(r, w))
	default:
		v.Listener.Finish(r.N.Id, v.change(r, w))
	}
	return true
}

// processOf is the number of the process that makes a call, 0 when it is no more.
func (v *Supervisor) processOf(r *Request) int {
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

// change is every call that only makes, moves or removes names.
func (v *Supervisor) change(r *Request, w *walker) syscall.Errno {
	at, errno := w.find(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return v.lost(r, 0, errno)
	}
	if r.Op == seccomp.HookRename || r.Op == seccomp.HookLink {
		to, errno := w.find(r.bases[1], r.names[1])
		defer to.close()
		if errno != 0 {
			return v.lost(r, 1, errno)
		}
		if r.Op == seccomp.HookLink {
			return v.link(r, w, &at, &to)
		}
		return v.rename(r, &at, &to)
	}
	v.names.RLock()
	defer v.names.RUnlock()
	op := policy.OpCreate
	switch r.Op {
	case seccomp.HookMkdir:
		op = policy.OpMkdir
	case seccomp.HookRemove:
		op = policy.OpRemove
	}
	full, errno := v.judge(r, op, &at)
	if errno != 0 {
		return errno
	}
	errno = changeName(r, &at)
	if errno == 0 && r.Op != seccomp.HookRemove {
		errno = v.keepOut(r, op, &at, full)
	}
	return v.toldAt(r, op, &at, errno)
}

// keepOut removes again what was made at a place whose directory has been moved, by
// another jail, from where it was judged to where it must not be.
func (v *Supervisor) keepOut(r *Request, op policy.Op, at *Place, judged string) syscall.Errno {
	full, errno := v.where(at)
	if errno == 0 && (full == judged || v.profile.Mediate(op, full) == policy.Granted) {
		return 0
	}
	flags := 0
	if op == policy.OpMkdir {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(at.Dir, at.Name, flags)
	v.Ledger.Refused(r, op.String(), full)
	return unix.EACCES
}

// changeName is the call itself.
func changeName(r *Request, at *Place) syscall.Errno {
	name := at.Name + at.tail
	switch r.Op {
	case seccomp.HookMkdir:
		unix.Umask(r.umask)
		return step.ErrnoOrEIO(unix.Mkdirat(at.Dir, name, uint32(r.arg(r.Mode))))
	case seccomp.HookMknod:
		unix.Umask(r.umask)
		return step.ErrnoOrEIO(unix.Mknodat(at.Dir, name, uint32(r.arg(r.Mode)), int(r.arg(r.Mode+1))))
	case seccomp.HookSymlink:
		return step.ErrnoOrEIO(unix.Symlinkat(r.text, at.Dir, name))
	case seccomp.HookRemove:
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
func (v *Supervisor) judge(r *Request, op policy.Op, at *Place) (full string, errno syscall.Errno) {
	if at.special() {
		return "", 0
	}
	if full, errno = v.where(at); errno != 0 {
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
func (v *Supervisor) verdict(r *Request, operation, full string, at *Place, verdict policy.Verdict) syscall.Errno {
	switch {
	case verdict == policy.Granted:
		return 0
	case readOnly(at.Dir):
		v.Ledger.Refused(r, operation, full)
		return unix.EROFS
	case verdict == policy.Pinned:
		v.Ledger.Refused(r, operation, full)
		return unix.EBUSY
	}
	v.Ledger.Refused(r, operation, full)
	return unix.EACCES
}

func readOnly(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// told records what the kernel refused, where that is what the profile wants, and
// returns its answer.
func (v *Supervisor) told(r *Request, op policy.Op, full string, errno syscall.Errno) syscall.Errno {
	if (errno == unix.EACCES || errno == unix.EPERM || errno == unix.EROFS) && !v.profile.Allows(op, full) {
		v.Ledger.Refused(r, op.String(), full)
	}
	return errno
}

// toldAt is told of a place that may have moved meanwhile.
func (v *Supervisor) toldAt(r *Request, op policy.Op, at *Place, errno syscall.Errno) syscall.Errno {
	if errno == 0 {
		return 0
	}
	if full, e := v.where(at); e == 0 {
		return v.told(r, op, full, errno)
	}
	return errno
}

// lost records a name whose directory does not exist in the jail. Whether that is
// because it was not granted, only the host can tell.
func (v *Supervisor) lost(r *Request, name int, errno syscall.Errno) syscall.Errno {
	if errno == unix.ENOENT && r.names[name][0] == '/' {
		if _, covered := v.profile.Find(path.Clean(r.names[name])); !covered {
			v.Ledger.absent(r, r.names[name])
		}
	}
	return errno
}

func Exists(at *Place) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.Dir, at.Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
