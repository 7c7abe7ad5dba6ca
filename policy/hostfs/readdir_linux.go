package hostfs

import (
	"encoding/binary"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
)

// buffers are shared by the workers of a search; a buffer belongs to one reader at a
// time.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// open is open(2) without an os.File, which would ask three times for flags and register
// with the poller. The files here are many and short.
func open(path string, flags int) (fd int, err error) {
	for {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|flags, 0)
		if err == nil {
			return fd, nil
		}
		if err != syscall.EINTR {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// readStart fills buf from the beginning of a file, as far as the file goes.
func readStart(path string, buf []byte) (n int, err error) {
	fd, err := open(path, OpenFlags|syscall.O_NOFOLLOW)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	for n < len(buf) {
		more, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return n, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if more <= 0 {
			break
		}
		n += more
	}
	return n, nil
}

// readDir returns the entries of a directory, by getdents64(2). os.File would add a stat, the
// poller and two allocations for each name; the search of a workspace is the longest part of a
// start.
func readDir(path string) ([]DirEntry, error) {
	fd, err := open(path, dirFlags)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var out []DirEntry
	for {
		n, err := syscall.ReadDirent(fd, *buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return out, os.NewSyscallError("getdents64", err)
		}
		if n <= 0 {
			return out, nil
		}
		out = parseDirents(string((*buf)[:n]), out) // one allocation for all names
	}
}

// parseDirents reads struct linux_dirent64 records: ino u64, off i64,
// reclen u16, type u8, name NUL-terminated.
func parseDirents(buf string, out []DirEntry) []DirEntry {
	const header = 19
	if out == nil {
		out = make([]DirEntry, 0, len(buf)/32)
	}
	for len(buf) > header {
		size := int(binary.NativeEndian.Uint16([]byte(buf[16:18])))
		if size <= header || size > len(buf) {
			break
		}
		name := buf[header:size]
		if i := strings.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if name != "." && name != ".." && name != "" {
			out = append(out, DirEntry{name, direntType(buf[18])})
		}
		buf = buf[size:]
	}
	return out
}

func direntType(t byte) fs.FileMode {
	switch t {
	case syscall.DT_REG:
		return 0
	case syscall.DT_DIR:
		return fs.ModeDir
	case syscall.DT_LNK:
		return fs.ModeSymlink
	case syscall.DT_FIFO:
		return fs.ModeNamedPipe
	case syscall.DT_SOCK:
		return fs.ModeSocket
	case syscall.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case syscall.DT_BLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular // DT_UNKNOWN
}
