package mediate

import (
	"path"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// openFile opens for the caller and hands the descriptor over. What does not exist is
// made with O_EXCL. What exists is looked at first, through a descriptor that opens
// nothing (O_PATH), and that object is judged and opened, also if the name leads to another
// one by then.
func (v *Mediator) openFile(r *Request, w *resolver) (answered bool) {
	flags := r.openFlags()
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		v.Listener.Respond(r.N.Id, v.recordMissing(r, 0, errno))
		return true
	}
	fd, errno := v.openPlace(r, w, &at, flags)
	switch errno {
	case 0:
		v.Listener.AddFD(r.N.Id, fd, flags&unix.O_CLOEXEC != 0)
		unix.Close(fd)
	case errAgain:
		return false
	default:
		v.Listener.Respond(r.N.Id, errno)
	}
	return true
}

// errAgain stands for an open that has to be waited for: that is for the call to do, and
// not for a worker, of which there are few.
const errAgain = ^syscall.Errno(0)

func (v *Mediator) openPlace(r *Request, w *resolver, at *PathRef, flags int) (int, syscall.Errno) {
	if at.tail != "" && flags&unix.O_CREAT != 0 {
		return -1, unix.EISDIR
	}
	if w.ofOthers(at) {
		return -1, unix.EACCES
	}
	for range maxSymlinks + 8 { // a name can change between two looks at it
		o, errno := v.inspect(r, at, flags)
		switch {
		case errno == unix.ENOENT && flags&unix.O_CREAT != 0:
			fd, errno := v.makeFile(r, at, flags)
			if errno == unix.EEXIST && flags&unix.O_EXCL == 0 {
				continue
			}
			return fd, errno
		case errno != 0:
			return -1, errno
		case o.kind != unix.S_IFLNK:
			defer o.close()
			return v.reopen(r, o, flags)
		}
		o.close()
		fd, errno := w.advance(at)
		if errno != 0 {
			return -1, v.recordLostLink(r, policy.OpWrite, at, errno)
		}
		if fd >= 0 { // a magic link led to an object
			return v.openFound(r, fd, flags)
		}
		if w.ofOthers(at) {
			return -1, unix.EACCES
		}
	}
	return -1, unix.ELOOP
}

// recordLostLink is lost of where the link at a place leads.
func (v *Mediator) recordLostLink(r *Request, op policy.Op, at *PathRef, errno syscall.Errno) syscall.Errno {
	var b [unix.PathMax]byte
	n, err := unix.Readlinkat(at.Dir, at.Name, b[:])
	dir, e := pathOf(at.Dir)
	if errno != unix.ENOENT || err != nil || e != 0 {
		return errno
	}
	target := string(b[:n])
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	if _, covered := v.profile.Find(path.Clean(target)); !covered {
		v.Reporter.Report(r, policy.AxisFs, op.String(), path.Clean(target), true)
	}
	return errno
}

// makeFile makes a file that is not there.
func (v *Mediator) makeFile(r *Request, at *PathRef, flags int) (int, syscall.Errno) {
	v.names.RLock()
	defer v.names.RUnlock()
	full, errno := v.judge(r, policy.OpCreate, at)
	if errno != 0 {
		return -1, errno
	}
	unix.Umask(r.umask)
	fd, err := unix.Openat(at.Dir, at.Name, flags|unix.O_EXCL|unix.O_CLOEXEC, uint32(r.arg(r.Mode))) // O_EXCL follows no symlink
	errno = step.ErrnoOrEIO(err)
	if errno == 0 {
		if errno = v.undoIfMoved(r, policy.OpCreate, at, full); errno != 0 {
			unix.Close(fd)
			fd = -1
		}
	}
	return fd, v.recordRefusalAt(r, policy.OpCreate, at, errno)
}

// advance moves a place on to where the symlink at it leads. A magic link leads to
// an object instead, which is returned, else -1.
func (w *resolver) advance(at *PathRef) (object int, errno syscall.Errno) {
	if w.magic(at.Dir, at.Name) {
		fd, errno := w.followMagicLink(at.Dir, at.Name)
		return fd, errno
	}
	target, errno := w.link(at.Dir, at.Name)
	if errno != 0 {
		return -1, errno
	}
	next, errno := w.resolve(at.Dir, target)
	if errno != 0 {
		next.close()
		return -1, errno
	}
	next.tail += at.tail
	at.close()
	*at = next
	return -1, 0
}

// object opens what a place leads to in the end, following symlinks.
func (w *resolver) object(at *PathRef) (int, syscall.Errno) {
	for range maxSymlinks + 1 {
		fd, err := unix.Openat(at.Dir, at.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, step.ErrnoOrEIO(err)
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		kind := st.Mode & unix.S_IFMT
		if err == nil && kind != unix.S_IFLNK {
			if at.tail == "" || kind == unix.S_IFDIR {
				return fd, 0
			}
			err = unix.ENOTDIR
		}
		unix.Close(fd)
		if err != nil {
			return -1, step.ErrnoOrEIO(err)
		}
		if object, errno := w.advance(at); errno != 0 || object >= 0 {
			return object, errno
		}
	}
	return -1, unix.ELOOP
}

func (v *Mediator) truncate(r *Request, w *resolver) syscall.Errno {
	size := int64(r.arg(1))
	if size < 0 {
		return unix.EINVAL
	}
	at, errno := w.resolve(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return v.recordMissing(r, 0, errno)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && size > 0 && uint64(size) > limit.Cur {
		return unix.EFBIG
	}
	fd, errno := v.openPlace(r, w, &at, unix.O_WRONLY|unix.O_NONBLOCK)
	switch {
	case errno == unix.ENXIO:
		return unix.EINVAL // a fifo or a socket, and no file
	case errno != 0:
		return errno
	}
	defer unix.Close(fd)
	return step.ErrnoOrEIO(unix.Ftruncate(fd, size))
}
