package mediator

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// object is an existing filesystem object, held by an O_PATH descriptor.
type object struct {
	fd   int
	kind uint32    // S_IFMT
	gone bool      // no name leads to it, but perhaps a mount of the jail
	dev  uint64    // device number of a device node
	full string    // its path
	op   policy.Op // the operation that judgeOpen decided about
}

func (o *object) close() { unix.Close(o.fd) }

// inspect opens the object at a reference with O_PATH and decides whether it may be opened
// with flags. It returns a symlink that must be followed without a decision.
func (m *Mediator) inspect(r *request, at *pathRef, flags int) (*object, syscall.Errno) {
	m.names.RLock()
	defer m.names.RUnlock()
	fd, err := unix.Openat(at.dir, at.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil { // the directory is hidden and cannot be searched
		return nil, m.judge.recordRefusalAt(r, opOfOpen(flags), at, sys.ErrnoOrEIO(err))
	}
	o, errno := newObject(fd)
	if errno == 0 {
		errno = o.openError(at.tail, flags)
	}
	if errno == 0 && o.kind != unix.S_IFLNK {
		if o.full, errno = at.full(); errno == 0 {
			errno = m.judgeOpen(r, o, flags)
		}
	}
	if errno != 0 {
		unix.Close(fd)
		return nil, errno
	}
	return o, 0
}

// opOfOpen returns the operation of an open of which the object is not known.
func opOfOpen(flags int) policy.Op {
	switch {
	case flags&unix.O_CREAT != 0:
		return policy.OpCreate
	case flags&seccomp.WritesOrCreates != 0:
		return policy.OpWrite
	}
	return policy.OpRead
}

func newObject(fd int) (*object, syscall.Errno) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, sys.ErrnoOrEIO(err)
	}
	return &object{fd: fd, kind: st.Mode & unix.S_IFMT, gone: st.Nlink == 0, dev: st.Rdev}, 0
}

func (o *object) openError(tail string, flags int) syscall.Errno {
	switch {
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return unix.EEXIST
	case o.gone && flags&(unix.O_ACCMODE|unix.O_TRUNC) != 0 && o.isReplaced():
		return unix.ESTALE
	case o.kind == unix.S_IFLNK && flags&unix.O_NOFOLLOW != 0 && tail == "":
		return unix.ELOOP
	case o.kind != unix.S_IFLNK && o.kind != unix.S_IFDIR && tail != "":
		return unix.ENOTDIR
	case o.kind == unix.S_IFDIR && flags&unix.O_CREAT != 0:
		return unix.EISDIR
	}
	return 0
}

// isReplaced reports whether this is a file that a mount of the jail holds, and that the host has replaced or removed:
// what the server may write there is lost. Some filesystems count no links, so the name must be gone, too.
func (o *object) isReplaced() bool {
	var st unix.Statx_t
	if unix.Statx(o.fd, "", unix.AT_EMPTY_PATH, 0, &st) != nil || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return false // its name went while it was being opened
	}
	name, errno := pathOf(o.fd)
	return errno == 0 && o.kind == unix.S_IFREG && strings.HasSuffix(name, " (deleted)") && !readOnly(o.fd)
}

// openFound reopens fd, the target of a magic link such as /dev/stdout. It closes fd.
func (m *Mediator) openFound(r *request, fd, flags int) (int, syscall.Errno) {
	defer unix.Close(fd)
	o, errno := newObject(fd)
	if errno != 0 {
		return -1, errno
	}
	m.names.RLock()
	if o.full, errno = pathOf(fd); errno == 0 {
		errno = m.judgeOpen(r, o, flags)
	}
	m.names.RUnlock()
	if errno != 0 {
		return -1, errno
	}
	return m.reopen(r, o, flags)
}

// judgeOpen decides about an open by the object's path, and sets o.op. The kernel refuses to
// open a directory or an object on a read-only mount for writing, with an errno of its own.
func (m *Mediator) judgeOpen(r *request, o *object, flags int) syscall.Errno {
	if o.op = policy.OpWrite; isTmpfile(flags) {
		return 0 // linkat gives the file a name later, and is mediated too
	}
	if errno := m.judge.mayRead(r, o.full, flags); errno != 0 {
		return errno
	}
	switch {
	case flags&seccomp.OAccMode == unix.O_RDONLY && flags&unix.O_TRUNC == 0:
		o.op = policy.OpRead
		return 0
	case flags&seccomp.OAccMode == unix.O_RDONLY:
		o.op = policy.OpTruncate
	}
	if o.kind != unix.S_IFDIR && m.judge.profile.Mediate(o.op, o.full) != policy.Granted && !readOnly(o.fd) {
		m.judge.reporter.Refused(&r.n, o.op.String(), o.full)
		return unix.EACCES
	}
	if o.kind != unix.S_IFREG {
		return 0
	}
	return m.Journal.Object(o.fd, o.full)
}

func isTmpfile(flags int) bool { return flags&unix.O_TMPFILE == unix.O_TMPFILE }

// reopen opens the object that was judged. It never blocks: it returns errAgain if an open
// would wait for the other end of a fifo or for a lease. The attempt itself breaks the lease.
func (m *Mediator) reopen(r *request, o *object, flags int) (int, syscall.Errno) {
	how := flags&^(unix.O_CREAT|unix.O_NOFOLLOW) | unix.O_CLOEXEC
	dir, name, mode := m.selfFD, strconv.Itoa(o.fd), uint32(0)
	switch {
	case isTmpfile(flags):
		unix.Umask(r.umask)
		dir, name, mode = o.fd, ".", uint32(r.arg(r.Mode))
	case o.kind == unix.S_IFCHR && o.dev == ttyDevice:
		var errno syscall.Errno
		if dir, name, errno = terminalOf(int(r.n.Tid)); errno != 0 {
			return -1, errno
		}
		fallthrough
	case o.kind != unix.S_IFDIR:
		how = how&^unix.O_EXCL | unix.O_NONBLOCK | unix.O_NOCTTY // else a terminal would become the supervisor's
	}
	fd, err := unix.Openat(dir, name, how, mode)
	switch {
	case flags&unix.O_NONBLOCK != 0 || how&unix.O_NONBLOCK == 0:
	case err == unix.EAGAIN || err == unix.ENXIO && o.kind == unix.S_IFIFO:
		return -1, errAgain
	case err == nil:
		if err = unix.SetNonblock(fd, false); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return -1, m.judge.recordRefusal(r, o.op, o.full, sys.ErrnoOrEIO(err))
	}
	return fd, 0
}

// ttyDevice is the number of /dev/tty, which stands for the caller's controlling terminal.
const ttyDevice = 5 << 8

// terminalOf returns the name of a thread's controlling terminal, or ENXIO.
func terminalOf(tid int) (dir int, name string, errno syscall.Errno) {
	var b []byte
	var err error
	sys.OnUnrestrictedThread(func() { b, err = sys.ReadThread(tid, "stat", make([]byte, sys.StatusSize)) })
	if err != nil {
		return 0, "", unix.ENXIO
	}
	tty := sys.TerminalNumber(b)
	major, minor := tty>>8&0xfff, tty&0xff|tty>>12&0xfff00
	if major < 136 || major > 143 { // a jail has UNIX98 pseudo-terminals only
		return 0, "", unix.ENXIO
	}
	return unix.AT_FDCWD, "/dev/pts/" + strconv.Itoa((major-136)<<20|minor), 0
}
