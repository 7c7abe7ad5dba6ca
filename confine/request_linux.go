package confine

import (
	"bytes"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// request is one hooked call, read from the caller's memory once.
type request struct {
	hookedCall
	n     notification
	names [2]string
	bases [2]int // O_PATH descriptors that relative names begin at; -1 for none
	text  string // of a symlink
	tgid  int    // 0 until it is needed, and -1 when it cannot be known any more
	umask int
	times []unix.Timespec // of hookTimes; nil is now
	tries int
}

func (r *request) close() {
	for i, fd := range r.bases {
		if fd >= 0 {
			unix.Close(fd)
			r.bases[i] = -1
		}
	}
}

func (r *request) arg(i int) uint64 {
	if i < 0 {
		return 0
	}
	return r.n.args[i]
}

// read copies the arguments of a call, and opens what relative names begin at. It
// leaves no way back into the caller: from here on nothing that it changes counts.
func (v *supervisor) read(r *request) (errno syscall.Errno) {
	for i, p := range [2]struct{ dir, path int }{{r.dir, r.path}, {r.dir2, r.path2}} {
		if i == 0 && r.onDescriptor() {
			if r.bases[0], errno = openBase(int(r.n.tid), r.dir, r.arg(r.dir)); errno != 0 {
				return errno
			}
			continue
		}
		if p.path == noArg {
			continue
		}
		if r.names[i], errno = readString(int(r.n.tid), r.arg(p.path)); errno != 0 {
			return errno
		}
		if r.names[i] == "" && !r.emptyPath() {
			return unix.ENOENT
		}
		if r.names[i] == "" {
			if r.bases[i], errno = openBase(int(r.n.tid), p.dir, r.arg(p.dir)); errno != 0 {
				return errno
			}
			continue
		}
		if r.names[i][0] == '/' {
			continue
		}
		if r.bases[i], errno = openBase(int(r.n.tid), p.dir, r.arg(p.dir)); errno != 0 {
			return errno
		}
	}
	if r.text != "" || r.op == hookSymlink {
		if r.text, errno = readString(int(r.n.tid), r.arg(r.hookedCall.text)); errno != 0 {
			return errno
		}
	}
	if r.op == hookTimes {
		if r.times, errno = readTimes(int(r.n.tid), r.call, r.arg(r.mode)); errno != 0 {
			return errno
		}
	}
	if r.umask = v.umask; r.umask == unknownUmask && r.makes() {
		if r.tgid, r.umask, errno = statusOf(int(r.n.tid)); errno != 0 {
			return errno
		}
	}
	if !v.listener.valid(r.n.id) {
		return unix.ESRCH
	}
	return 0
}

// unknownUmask is that of a caller when any process of the jail may have changed its
// own: it has to be asked for, and a look into /proc is what costs most then.
const unknownUmask = -1

// makes tells whether the caller's umask counts.
func (r *request) makes() bool {
	switch r.op {
	case hookMkdir, hookMknod:
		return true
	case hookOpen:
		return r.openFlags()&(oCreat|oTmpfile) != 0
	}
	return false
}

// openFlags are the flags of an open; creat has none.
func (r *request) openFlags() int {
	if r.flags == noArg {
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	}
	return int(int32(r.arg(r.flags)))
}

// openBase opens the directory that a relative name begins at.
func openBase(tid, arg int, value uint64) (int, syscall.Errno) {
	name := ofThread(tid, "cwd")
	if arg != atCwd && int32(value) != unix.AT_FDCWD {
		name = ofThread(tid, "fd/"+strconv.Itoa(int(int32(value))))
	}
	fd, err := unix.Openat(procAt, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, unix.EBADF
	}
	return fd, asErrno(err)
}

// readString reads a name from another process: up to PATH_MAX bytes with the
// NUL, page by page, since the next page may not be there.
func readString(tid int, addr uint64) (string, syscall.Errno) {
	buf := make([]byte, 0, 256)
	for len(buf) < unix.PathMax {
		at := addr + uint64(len(buf))
		size := min(4096-int(at%4096), unix.PathMax-len(buf))
		chunk := make([]byte, min(size, 256))
		n, errno := readMemory(tid, at, chunk)
		if errno != 0 {
			return "", errno
		}
		if i := bytes.IndexByte(chunk[:n], 0); i >= 0 {
			return string(append(buf, chunk[:i]...)), 0
		}
		buf = append(buf, chunk[:n]...)
	}
	return "", unix.ENAMETOOLONG
}

func readMemory(tid int, addr uint64, into []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: &into[0], Len: uint64(len(into))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(into)}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	runtime.KeepAlive(into)
	if errno == 0 && n == 0 {
		errno = unix.EFAULT
	}
	return int(n), errno
}

// statusOf reads proc_pid_status(5): the process of a thread, as the jail knows it, and
// its umask.
func statusOf(tid int) (tgid, umask int, errno syscall.Errno) {
	b, err := readThread(tid, "status", make([]byte, statusSize))
	if err != nil {
		return 0, 0, unix.ESRCH
	}
	umask = -1
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			u, _ := strconv.ParseInt(string(bytes.TrimSpace(v)), 8, 32)
			umask = int(u)
		}
	}
	if tgid = lastNumber(b, "NStgid:"); tgid < 0 || umask < 0 {
		return 0, 0, unix.ESRCH
	}
	return tgid, umask, 0
}
