package confine

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// request is one hooked call, read from the caller's memory once.
type request struct {
	hookedCall
	n     notification
	names [2]string
	bases [2]int // O_PATH descriptors that relative names begin at, of the tasks; -1 for none
	text  string // of a symlink
	umask int
	times []unix.Timespec // of hookTimes; nil is now
	tries int

	status *status // of the caller; nil until it is needed
}

// close lets go of what the request holds: any task does that has the same descriptors.
func (r *request) close(t *stub.Task) {
	for i, fd := range r.bases {
		if fd >= 0 {
			t.Close(fd)
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
			if r.bases[0], errno = v.openBase(r, r.dir, r.arg(r.dir)); errno != 0 {
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
			if r.bases[i], errno = v.openBase(r, p.dir, r.arg(p.dir)); errno != 0 {
				return errno
			}
			continue
		}
		if r.names[i][0] == '/' {
			continue
		}
		if r.bases[i], errno = v.openBase(r, p.dir, r.arg(p.dir)); errno != 0 {
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
		st, errno := statusOf(int(r.n.tid), v.depth)
		if errno != 0 {
			return errno
		}
		r.umask, r.status = st.umask, &st
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

// openBase opens the directory that a relative name begins at, for the tasks.
func (v *supervisor) openBase(r *request, arg int, value uint64) (int, syscall.Errno) {
	name := "/proc/" + strconv.Itoa(int(r.n.tid)) + "/"
	if arg == atCwd || int32(value) == unix.AT_FDCWD {
		name += "cwd"
	} else {
		name += "fd/" + strconv.Itoa(int(int32(value)))
	}
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, unix.EBADF
	}
	if err == nil {
		fd, err = v.lend(fd)
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

// status is what proc(5) status tells of a thread.
type status struct {
	tgid, tid int // in the jail
	umask     int
}

// statusOf asks for it. The thread has a number in each PID namespace from that of /proc
// down to its own; depth says which of them is the jail's.
func statusOf(tid, depth int) (st status, errno syscall.Errno) {
	st = status{tgid: -1, tid: tid, umask: -1}
	for line := range bytes.Lines(readStatus(tid)) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		number := func(i int) int {
			n, _ := strconv.Atoi(string(fields[i]))
			return n
		}
		switch string(name) {
		case "Umask":
			u, _ := strconv.ParseInt(string(fields[0]), 8, 32)
			st.umask = int(u)
		case "Tgid":
			st.tgid = number(0)
		case "NStgid": // absent where the kernel knows no namespaces
			st.tgid = number(min(depth, len(fields)-1))
		case "NSpid":
			st.tid = number(min(depth, len(fields)-1))
		}
	}
	if st.tgid < 0 || st.umask < 0 {
		return status{}, unix.ESRCH
	}
	return st, 0
}

// readStatus reads up to the numbers, which come after a list of groups of any length.
func readStatus(tid int) (b []byte) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	b = make([]byte, 0, 2<<10)
	for !bytes.Contains(b, []byte("\nNSpgid:")) {
		b = slices.Grow(b, 512)
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err != nil {
			return nil
		}
		if n == 0 {
			break
		}
		b = b[:len(b)+n]
	}
	return b
}
