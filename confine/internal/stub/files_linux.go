package stub

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func Openat(t *Task, dir int, path string, flags int, mode uint32) (int, error) {
	return t.call(unix.SYS_OPENAT, uintptr(dir), t.Path(path), uintptr(flags|unix.O_LARGEFILE), uintptr(mode))
}

func Openat2(t *Task, dir int, path string, how *unix.OpenHow) (int, error) {
	return t.call(unix.SYS_OPENAT2, uintptr(dir), t.Path(path), copyStruct(t, how), unsafe.Sizeof(*how))
}

func Close(t *Task, fd int) error { return t.do(unix.SYS_CLOSE, uintptr(fd)) }

func CloseRange(t *Task, first, last uint, flags int) error {
	return t.do(unix.SYS_CLOSE_RANGE, uintptr(first), uintptr(last), uintptr(flags))
}

func Read(t *Task, fd int, b []byte) (int, error) {
	at := t.arena.alloc(len(b))
	clear(at)
	n, err := t.call(unix.SYS_READ, uintptr(fd), address(at), uintptr(len(b)))
	if err == nil {
		t.OnComplete(func() error { copy(b, at); return nil })
	}
	return n, err
}

func Write(t *Task, fd int, b []byte) (int, error) {
	return t.call(unix.SYS_WRITE, uintptr(fd), t.arena.copyIn(b), uintptr(len(b)))
}

func Mkdirat(t *Task, dir int, path string, mode uint32) error {
	return t.do(unix.SYS_MKDIRAT, uintptr(dir), t.Path(path), uintptr(mode))
}

func Mkdir(t *Task, path string, mode uint32) error { return Mkdirat(t, unix.AT_FDCWD, path, mode) }

func Rmdir(t *Task, path string) error { return Unlinkat(t, unix.AT_FDCWD, path, unix.AT_REMOVEDIR) }

func Mknodat(t *Task, dir int, path string, mode uint32, dev int) error {
	return t.do(unix.SYS_MKNODAT, uintptr(dir), t.Path(path), uintptr(mode), uintptr(dev))
}

func Symlinkat(t *Task, target string, dir int, path string) error {
	return t.do(unix.SYS_SYMLINKAT, t.Path(target), uintptr(dir), t.Path(path))
}

func Unlinkat(t *Task, dir int, path string, flags int) error {
	return t.do(unix.SYS_UNLINKAT, uintptr(dir), t.Path(path), uintptr(flags))
}

// Faccessat takes no flags: faccessat2 needs Linux 5.8.
func Faccessat(t *Task, dir int, path string, mode uint32) error {
	return t.do(unix.SYS_FACCESSAT, uintptr(dir), t.Path(path), uintptr(mode))
}

func Fstat(t *Task, fd int, st *unix.Stat_t) error {
	return fillStruct(t, st, func(at uintptr) error { return t.do(unix.SYS_FSTAT, uintptr(fd), at) })
}

func Fstatfs(t *Task, fd int, st *unix.Statfs_t) error {
	return fillStruct(t, st, func(at uintptr) error { return t.do(unix.SYS_FSTATFS, uintptr(fd), at) })
}

func Statx(t *Task, dir int, path string, flags, mask int, st *unix.Statx_t) error {
	name := t.Path(path)
	return fillStruct(t, st, func(at uintptr) error {
		return t.do(unix.SYS_STATX, uintptr(dir), name, uintptr(flags), uintptr(mask), at)
	})
}

func Dup3(t *Task, from, to, flags int) error {
	return t.do(unix.SYS_DUP3, uintptr(from), uintptr(to), uintptr(flags))
}

func FcntlInt(t *Task, fd, cmd, arg int) (int, error) {
	return t.call(unix.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
}

// Ioctl is for requests that only read their argument.
func Ioctl(t *Task, fd int, request uintptr, arg []byte) (int, error) {
	return t.call(unix.SYS_IOCTL, uintptr(fd), request, t.arena.copyIn(arg))
}
