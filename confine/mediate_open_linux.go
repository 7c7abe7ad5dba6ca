package confine

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// openFile opens for the caller and hands the descriptor over. What exists is
// opened without O_CREAT and what does not is made with O_EXCL, each at a name
// that is not followed, so that what was judged is what is opened.
func (v *supervisor) openFile(r *request, w *walker) (answered bool) {
	flags := r.openFlags()
	at, errno := w.find(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		v.listener.finish(r.n.id, v.lost(r, 0, errno))
		return true
	}
	fd, errno := v.openPlace(r, w, &at, flags)
	switch errno {
	case 0:
		v.listener.hand(r.n.id, fd, flags&unix.O_CLOEXEC != 0)
		unix.Close(fd)
	case noReader:
		return false
	default:
		v.listener.finish(r.n.id, errno)
	}
	return true
}

// noReader stands for a fifo that has to be waited for.
const noReader = ^syscall.Errno(0)

func (v *supervisor) openPlace(r *request, w *walker, at *place, flags int) (int, syscall.Errno) {
	if at.tail != "" && flags&unix.O_CREAT != 0 {
		return -1, unix.EISDIR
	}
	if w.ofOthers(at) {
		return -1, unix.EACCES
	}
	for range maxSymlinks + 8 { // a name can change between two looks at it
		var st unix.Stat_t
		err := unix.Fstatat(at.dir, at.name, &st, unix.AT_SYMLINK_NOFOLLOW)
		kind := st.Mode & unix.S_IFMT
		switch {
		case err == unix.ENOENT && flags&unix.O_CREAT != 0:
			fd, errno := v.makeFile(r, at, flags)
			if errno == unix.EEXIST && flags&unix.O_EXCL == 0 {
				continue
			}
			return fd, errno
		case err != nil:
			return -1, asErrno(err)
		case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
			return -1, unix.EEXIST
		case kind == unix.S_IFLNK && (flags&unix.O_NOFOLLOW == 0 || at.tail != ""):
			fd, errno := w.advance(at)
			if errno != 0 {
				return -1, errno
			}
			if fd >= 0 { // a magic link led to an object
				defer unix.Close(fd)
				return v.reopen(r, fd, flags)
			}
			if w.ofOthers(at) {
				return -1, unix.EACCES
			}
			continue
		case kind != unix.S_IFDIR && at.tail != "":
			return -1, unix.ENOTDIR
		case kind == unix.S_IFDIR && flags&unix.O_CREAT != 0:
			return -1, unix.EISDIR
		}
		fd, errno := v.openThere(r, at, &st, flags)
		if errno == unix.ENOENT && flags&unix.O_CREAT != 0 || errno == unix.ELOOP && flags&unix.O_NOFOLLOW == 0 {
			continue
		}
		return fd, errno
	}
	return -1, unix.ELOOP
}

// makeFile makes a file that is not there.
func (v *supervisor) makeFile(r *request, at *place, flags int) (int, syscall.Errno) {
	v.names.RLock()
	defer v.names.RUnlock()
	full, errno := v.judge(r, policy.OpCreate, at)
	if errno != 0 {
		return -1, errno
	}
	unix.Umask(r.umask)
	fd, err := unix.Openat(at.dir, at.name, flags|unix.O_EXCL|unix.O_CLOEXEC, uint32(r.arg(r.mode))) // O_EXCL follows no symlink
	errno = asErrno(err)
	if errno == 0 {
		if errno = v.keepOut(r, policy.OpCreate, at, full); errno != 0 {
			unix.Close(fd)
			fd = -1
		}
	}
	return fd, v.told(r, policy.OpCreate, at, errno)
}

// openThere opens what exists at a place and is no symlink.
func (v *supervisor) openThere(r *request, at *place, st *unix.Stat_t, flags int) (int, syscall.Errno) {
	v.names.RLock()
	defer v.names.RUnlock()
	unnamed := flags&unix.O_TMPFILE == unix.O_TMPFILE
	op := policy.OpWrite
	full := ""
	if !unnamed {
		var errno syscall.Errno
		if full, errno = at.full(); errno == 0 {
			errno = v.mayRead(r, full, flags) // also of "."
		}
		if errno != 0 {
			return -1, errno
		}
	}
	if !unnamed && !at.special() {
		changes := flags&oAccMode != unix.O_RDONLY || flags&unix.O_TRUNC != 0
		switch {
		case !changes:
			op = policy.OpRead
		case flags&oAccMode == unix.O_RDONLY:
			op = policy.OpTruncate
		}
		if changes && st.Mode&unix.S_IFMT != unix.S_IFDIR && v.profile.Mediate(op, full) != policy.Granted && !v.readOnlyThere(at) {
			v.ledger.refused(r, op.String(), full)
			return -1, unix.EACCES
		}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFIFO {
		return openFifo(at, flags)
	}
	name := at.name
	dir := at.dir
	if st.Mode&unix.S_IFMT == unix.S_IFCHR {
		flags |= unix.O_NOCTTY // the terminal would become ours
		if st.Rdev == ttyDevice {
			var errno syscall.Errno
			if dir, name, errno = terminalOf(int(r.n.tid)); errno != 0 {
				return -1, errno
			}
		}
	}
	mode := uint32(0)
	if unnamed {
		unix.Umask(r.umask)
		mode = uint32(r.arg(r.mode))
	} else {
		flags &^= unix.O_EXCL // with O_TMPFILE it says that the file will never get a name
	}
	fd, errno := openUnfollowed(dir, name, flags, mode)
	return fd, v.told(r, op, at, errno)
}

// mayRead decides about reading, where the calls that only read are handed over:
// Landlock gives what a narrower entry takes away, and there is no mask.
func (v *supervisor) mayRead(r *request, full string, flags int) syscall.Errno {
	if !v.bare || flags&oAccMode == unix.O_WRONLY || v.profile.Mediate(policy.OpRead, full) == policy.Granted {
		return 0
	}
	v.ledger.refused(r, policy.OpRead.String(), full)
	return unix.EACCES
}

// knownOpenFlags are those that openat2 takes; the older calls ignore the others.
const knownOpenFlags = unix.O_ACCMODE | unix.O_TRUNC | unix.O_EXCL | unix.O_NOCTTY | unix.O_APPEND | unix.O_NONBLOCK | unix.O_SYNC | unix.O_DSYNC |
	unix.O_ASYNC | unix.O_DIRECT | unix.O_LARGEFILE | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NOATIME | unix.O_CLOEXEC | unix.O_TMPFILE

// openUnfollowed opens what exists at a name, ELOOP for a symlink. The caller's
// descriptor must not show that: so not O_NOFOLLOW, which stays in its flags.
func openUnfollowed(dir int, name string, flags int, mode uint32) (int, syscall.Errno) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags: uint64(flags&knownOpenFlags | unix.O_CLOEXEC), Mode: uint64(mode & 0o7777), Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	return fd, asErrno(err)
}

// readOnlyThere tells that a mount will refuse writing at a place, with its own error.
func (v *supervisor) readOnlyThere(at *place) bool {
	fd, err := unix.Openat(at.dir, at.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return readOnly(fd)
}

// reopen opens the object behind a magic link, such as /dev/stdout, anew.
func (v *supervisor) reopen(r *request, object, flags int) (int, syscall.Errno) {
	v.names.RLock()
	defer v.names.RUnlock()
	var st unix.Stat_t
	if err := unix.Fstat(object, &st); err != nil {
		return -1, asErrno(err)
	}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFREG || kind == unix.S_IFDIR {
		full, errno := pathOf(object)
		if errno != 0 {
			return -1, errno
		}
		if errno := v.mayRead(r, full, flags); errno != 0 {
			return -1, errno
		}
		changes := flags&oAccMode != unix.O_RDONLY || flags&unix.O_TRUNC != 0
		if changes && kind == unix.S_IFREG && v.profile.Mediate(policy.OpWrite, full) != policy.Granted && !readOnly(object) {
			v.ledger.refused(r, policy.OpWrite.String(), full)
			return -1, unix.EACCES
		}
	}
	flags = flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW) | unix.O_CLOEXEC | unix.O_NOCTTY
	if st.Mode&unix.S_IFMT == unix.S_IFIFO {
		flags |= unix.O_NONBLOCK // one of its ends is open: there is nothing to wait for
	}
	fd, err := unix.Openat(procAt, ofDescriptor(object), flags, 0)
	if err == nil && r.openFlags()&unix.O_NONBLOCK == 0 && flags&unix.O_NONBLOCK != 0 {
		err = unix.SetNonblock(fd, false)
	}
	return fd, asErrno(err)
}

// advance moves a place on to where the symlink at it leads. A magic link leads to
// an object instead, which is returned, else -1.
func (w *walker) advance(at *place) (object int, errno syscall.Errno) {
	if w.magic(at.dir, at.name) {
		fd, errno := w.follow(at.dir, at.name)
		return fd, errno
	}
	target, errno := w.link(at.dir, at.name)
	if errno != 0 {
		return -1, errno
	}
	next, errno := w.find(at.dir, target)
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
func (w *walker) object(at *place) (int, syscall.Errno) {
	for range maxSymlinks + 1 {
		fd, err := unix.Openat(at.dir, at.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, asErrno(err)
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
			return -1, asErrno(err)
		}
		if object, errno := w.advance(at); errno != 0 || object >= 0 {
			return object, errno
		}
	}
	return -1, unix.ELOOP
}

func (v *supervisor) truncate(r *request, w *walker) syscall.Errno {
	size := int64(r.arg(1))
	if size < 0 {
		return unix.EINVAL
	}
	at, errno := w.find(r.bases[0], r.names[0])
	defer at.close()
	if errno != 0 {
		return v.lost(r, 0, errno)
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
	return asErrno(unix.Ftruncate(fd, size))
}

// openFifo opens a fifo without waiting for its other end: that is for the call to
// do, and not for a worker, of which there are few.
func openFifo(at *place, flags int) (int, syscall.Errno) {
	fd, errno := openUnfollowed(at.dir, at.name, flags&^unix.O_EXCL|unix.O_NONBLOCK, 0)
	switch {
	case errno == unix.ENXIO && flags&unix.O_NONBLOCK == 0:
		return -1, noReader
	case errno == 0 && flags&unix.O_NONBLOCK == 0:
		errno = asErrno(unix.SetNonblock(fd, false))
	}
	return fd, errno
}

// ttyDevice is /dev/tty, which is whatever terminal controls the caller.
const ttyDevice = 5 << 8

// terminalOf names the terminal that controls a thread, from the seventh field of
// proc(5) stat.
func terminalOf(tid int) (dir int, name string, errno syscall.Errno) {
	var b []byte
	var err error
	outside(func() { b, err = readThread(tid, "stat", make([]byte, statusSize)) })
	if err != nil {
		return 0, "", unix.ENXIO
	}
	tty := terminalNumber(b)
	major, minor := tty>>8&0xfff, tty&0xff|tty>>12&0xfff00
	if major < 136 || major > 143 { // UNIX98 terminals are all that a jail has
		return 0, "", unix.ENXIO
	}
	return unix.AT_FDCWD, "/dev/pts/" + strconv.Itoa((major-136)<<20|minor), 0
}
