package mediator

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// request is one mediated call. Its arguments are read from the caller's memory once.
type request struct {
	seccomp.MediatedCall
	n         seccomp.Notification
	names     [2]string
	bases     [2]int // O_PATH descriptors that relative names begin at; -1 for none
	text      string // the target of a new symlink
	tgid      int    // process ID: 0 until it is needed, -1 when it is unknown
	umask     int
	times     []unix.Timespec // of seccomp.OpTimes
	tries     int             // retries so far
	continues bool            // it is only looked at: see Mediator.watchRead
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
	return r.n.Args[i]
}

// reader reads calls from their callers' memory. The receiver alone uses it.
type reader struct {
	listener *seccomp.Listener
	umask    int // of every process of the server, or spec.UnknownUmask after one changed it
}

// read copies the arguments of a call, and opens the directories at which relative names
// begin. After read returns, the mediator never looks at the arguments in the caller's memory
// again, so later changes have no effect (TOCTOU).
func (a *reader) read(r *request) (errno syscall.Errno) {
	for i, p := range [2]struct{ dir, path int }{{r.Dir, r.Path}, {r.Dir2, r.Path2}} {
		byDescriptor := i == 0 && r.onDescriptor() // the call names no path
		if p.path == seccomp.NoArg && !byDescriptor {
			continue
		}
		if !byDescriptor {
			if r.names[i], errno = readString(int(r.n.Tid), r.arg(p.path)); errno != 0 {
				return errno
			}
			if r.names[i] == "" && !r.emptyPath() {
				return unix.ENOENT
			}
		}
		if strings.HasPrefix(r.names[i], "/") {
			continue
		}
		if r.bases[i], errno = openBase(int(r.n.Tid), p.dir, r.arg(p.dir)); errno != 0 {
			return errno
		}
	}
	if r.Op == seccomp.OpSymlink {
		if r.text, errno = readString(int(r.n.Tid), r.arg(r.MediatedCall.Text)); errno != 0 {
			return errno
		}
	}
	if r.Op == seccomp.OpTimes {
		if r.times, errno = readTimes(int(r.n.Tid), r.Call, r.arg(r.Mode)); errno != 0 {
			return errno
		}
	}
	if r.umask = a.umask; r.umask == spec.UnknownUmask && r.creates() {
		if r.tgid, r.umask, errno = sys.ThreadStatus(int(r.n.Tid)); errno != 0 {
			return errno
		}
	}
	// If the caller is gone, its ID may be that of another thread, and what was read is not the call's.
	if !a.listener.Valid(r.n.Id) {
		return unix.ESRCH
	}
	return 0
}

func (r *request) creates() bool {
	switch r.Op {
	case seccomp.OpMkdir, seccomp.OpMknod:
		return true
	case seccomp.OpOpen:
		return r.openFlags()&(seccomp.OCreat|seccomp.OTmpfile) != 0
	}
	return false
}

func (r *request) openFlags() int {
	if r.Flags == seccomp.NoArg {
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	}
	return int(int32(r.arg(r.Flags)))
}

func openBase(tid, arg int, value uint64) (int, syscall.Errno) {
	name := sys.ThreadFile(tid, "cwd")
	if arg != seccomp.AtCwd && int32(value) != unix.AT_FDCWD {
		name = sys.ThreadFile(tid, "fd/"+strconv.Itoa(int(int32(value))))
	}
	fd, err := unix.Openat(sys.DirFD, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, unix.EBADF
	}
	return fd, sys.ErrnoOrEIO(err)
}

// readString reads a NUL-terminated name of at most PATH_MAX bytes from another process. No
// single read crosses a page boundary, because the next page may not be mapped.
func readString(tid int, addr uint64) (string, syscall.Errno) {
	buf := make([]byte, 0, 256)
	for len(buf) < unix.PathMax {
		at := addr + uint64(len(buf))
		size := min(4096-int(at%4096), unix.PathMax-len(buf))
		chunk := make([]byte, min(size, 256))
		n, errno := sys.ReadMemory(tid, at, chunk)
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
