package confine

import (
	"path"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// nameLock keeps a path true between the moment it is judged and the moment it is
// used: whoever may move a directory is alone. Other jails have their own, so what
// was done is looked at once more, and taken back where one of them came between.
type nameLock struct{ sync.RWMutex }

// carryOut decides a call by its names, does it and answers it, unless it has to be
// tried again later.
func (v *supervisor) carryOut(r *request) (answered bool) {
	w := &walker{tid: int(r.n.tid), own: true, open: openOutside, process: func() int { return v.processOf(r) }}
	if v.bare {
		defer unix.Chdir("/") // what it stands in is in use, to the host as well
	}
	switch r.op {
	case hookOpen:
		return v.openFile(r, w)
	case hookTruncate:
		errno := v.truncate(r, w)
		if errno == unix.EAGAIN {
			return false // a process of the host holds a lease; the kernel has asked for it back
		}
		v.listener.finish(r.n.id, errno)
	case hookMode, hookOwner, hookTimes:
		v.listener.finish(r.n.id, v.attributes(r, w))
	default:
		v.listener.finish(r.n.id, v.change(r, w))
	}
	return true
}

// processOf is the number of the process that makes a call, 0 when it is no more.
func (v *supervisor) processOf(r *request) int {
	if r.tgid == 0 {
		var errno syscall.Errno
		outside(func() { r.tgid, _, errno = statusOf(int(r.n.tid)) })
		if errno != 0 || !v.listener.valid(r.n.id) {
			r.tgid = -1
		}
	}
	return max(0, r.tgid)
}

// openOutside opens the target of a magic link.
func openOutside(dir int, name string) (fd int, errno syscall.Errno) {
	outside(func() {
		var err error
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		errno = asErrno(err)
	})
	return fd, errno
}

// change is every call that only makes, moves or removes names.
func (v *supervisor) change(r *request, w *walker) syscall.Errno {
	at, errno := w.find(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return v.lost(r, 0, errno)
	}
	if r.op == hookRename || r.op == hookLink {
		to, errno := w.find(r.bases[1], r.names[1])
		defer to.close()
		if errno != 0 {
			return v.lost(r, 1, errno)
		}
		if r.op == hookLink {
			return v.link(r, w, &at, &to)
		}
		return v.rename(r, &at, &to)
	}
	v.names.RLock()
	defer v.names.RUnlock()
	op := policy.OpCreate
	switch r.op {
	case hookMkdir:
		op = policy.OpMkdir
	case hookRemove:
		op = policy.OpRemove
	}
	full, errno := v.judge(r, op, &at)
	if errno != 0 {
		return errno
	}
	errno = changeName(r, &at)
	if errno == 0 && r.op != hookRemove {
		errno = v.keepOut(r, op, &at, full)
	}
	return v.toldAt(r, op, &at, errno)
}

// keepOut removes again what was made at a place whose directory has been moved, by
// another jail, from where it was judged to where it must not be.
func (v *supervisor) keepOut(r *request, op policy.Op, at *place, judged string) syscall.Errno {
	full, errno := v.where(at)
	if errno == 0 && (full == judged || v.profile.Mediate(op, full) == policy.Granted) {
		return 0
	}
	flags := 0
	if op == policy.OpMkdir {
		flags = unix.AT_REMOVEDIR
	}
	unix.Unlinkat(at.dir, at.name, flags)
	v.ledger.refused(r, op.String(), full)
	return unix.EACCES
}

// changeName is the call itself.
func changeName(r *request, at *place) syscall.Errno {
	name := at.name + at.tail
	switch r.op {
	case hookMkdir:
		unix.Umask(r.umask)
		return asErrno(unix.Mkdirat(at.dir, name, uint32(r.arg(r.mode))))
	case hookMknod:
		unix.Umask(r.umask)
		return asErrno(unix.Mknodat(at.dir, name, uint32(r.arg(r.mode)), int(r.arg(r.mode+1))))
	case hookSymlink:
		return asErrno(unix.Symlinkat(r.text, at.dir, name))
	case hookRemove:
		return asErrno(unix.Unlinkat(at.dir, name, r.removeFlags()))
	}
	return unix.ENOSYS
}

func (r *request) removeFlags() int {
	if r.call == "rmdir" {
		return unix.AT_REMOVEDIR
	}
	return int(int32(r.arg(r.flags)))
}

// judge decides one name, and tells the path that it judged.
func (v *supervisor) judge(r *request, op policy.Op, at *place) (full string, errno syscall.Errno) {
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
	case (op == policy.OpCreate || op == policy.OpMkdir) && exists(at):
		return full, unix.EEXIST
	case op == policy.OpRemove && !exists(at):
		return full, unix.ENOENT
	}
	return full, v.verdict(r, op.String(), full, at, verdict)
}

// verdict turns a decision into the error that the kernel would give if a mount
// could hold it, and records it.
func (v *supervisor) verdict(r *request, operation, full string, at *place, verdict policy.Verdict) syscall.Errno {
	switch {
	case verdict == policy.Granted:
		return 0
	case readOnly(at.dir):
		v.ledger.refused(r, operation, full)
		return unix.EROFS
	case verdict == policy.Pinned:
		v.ledger.refused(r, operation, full)
		return unix.EBUSY
	}
	v.ledger.refused(r, operation, full)
	return unix.EACCES
}

func readOnly(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// told records what the kernel refused, where that is what the profile wants, and
// returns its answer.
func (v *supervisor) told(r *request, op policy.Op, full string, errno syscall.Errno) syscall.Errno {
	if (errno == unix.EACCES || errno == unix.EPERM || errno == unix.EROFS) && !v.profile.Allows(op, full) {
		v.ledger.refused(r, op.String(), full)
	}
	return errno
}

// toldAt is told of a place that may have moved meanwhile.
func (v *supervisor) toldAt(r *request, op policy.Op, at *place, errno syscall.Errno) syscall.Errno {
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
func (v *supervisor) lost(r *request, name int, errno syscall.Errno) syscall.Errno {
	if errno == unix.ENOENT && r.names[name][0] == '/' {
		if _, covered := v.profile.Find(path.Clean(r.names[name])); !covered {
			v.ledger.absent(r, r.names[name])
		}
	}
	return errno
}

func exists(at *place) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}
