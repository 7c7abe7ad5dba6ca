package stub

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a supervisor does with names: as in calls_linux.go, each is the call of package
// unix that has its name.

// Local tells whether the task is the calling thread.
func (t *Task) Local() bool { return t.stub == nil }

// fill has the kernel fill b in, or the beginning of it, and returns how much.
func (t *Task) fill(b []byte, call func(at uintptr) (int, error)) (int, error) {
	at := t.space(len(b))
	n, err := call(address(at))
	if err == nil {
		copy(b, at[:n])
	}
	return n, err
}

func (t *Task) Fstatat(dir int, path string, st *unix.Stat_t, flags int) error {
	t.begin()
	name := t.path(path)
	return into(t, st, func(at uintptr) error { return t.do(sysFstatat, uintptr(dir), name, at, uintptr(flags)) })
}

func (t *Task) Statfs(path string, st *unix.Statfs_t) error {
	t.begin()
	name := t.path(path)
	return into(t, st, func(at uintptr) error { return t.do(unix.SYS_STATFS, name, at) })
}

func (t *Task) Readlinkat(dir int, path string, b []byte) (int, error) {
	t.begin()
	name := t.path(path)
	return t.fill(b, func(at uintptr) (int, error) {
		return t.call(unix.SYS_READLINKAT, uintptr(dir), name, at, uintptr(len(b)))
	})
}

func (t *Task) Readlink(path string, b []byte) (int, error) {
	return t.Readlinkat(unix.AT_FDCWD, path, b)
}

// Getcwd counts the NUL too.
func (t *Task) Getcwd(b []byte) (int, error) {
	t.begin()
	return t.fill(b, func(at uintptr) (int, error) { return t.call(unix.SYS_GETCWD, at, uintptr(len(b))) })
}

// Getdents reads entries of a directory: struct linux_dirent64 records.
func (t *Task) Getdents(fd int, b []byte) (int, error) {
	t.begin()
	return t.fill(b, func(at uintptr) (int, error) {
		return t.call(unix.SYS_GETDENTS64, uintptr(fd), at, uintptr(len(b)))
	})
}

func (t *Task) Renameat2(fromDir int, from string, toDir int, to string, flags uint) error {
	t.begin()
	return t.do(unix.SYS_RENAMEAT2, uintptr(fromDir), t.path(from), uintptr(toDir), t.path(to), uintptr(flags))
}

func (t *Task) Linkat(fromDir int, from string, toDir int, to string, flags int) error {
	t.begin()
	return t.do(unix.SYS_LINKAT, uintptr(fromDir), t.path(from), uintptr(toDir), t.path(to), uintptr(flags))
}

// Fchmodat takes no flags: the call that does is younger (6.6).
func (t *Task) Fchmodat(dir int, path string, mode uint32) error {
	t.begin()
	return t.do(unix.SYS_FCHMODAT, uintptr(dir), t.path(path), uintptr(mode))
}

func (t *Task) Fchownat(dir int, path string, uid, gid, flags int) error {
	t.begin()
	return t.do(unix.SYS_FCHOWNAT, uintptr(dir), t.path(path), uintptr(uid), uintptr(gid), uintptr(flags))
}

// UtimesNanoAt sets the time of access and that of modification; no times are now.
func (t *Task) UtimesNanoAt(dir int, path string, times []unix.Timespec, flags int) error {
	t.begin()
	name, at := t.path(path), uintptr(0)
	switch len(times) {
	case 0:
	case 2:
		at = object(t, (*[2]unix.Timespec)(times))
	default:
		return unix.EINVAL
	}
	return t.do(unix.SYS_UTIMENSAT, uintptr(dir), name, at, uintptr(flags))
}

func (t *Task) Ftruncate(fd int, size int64) error {
	return t.do(unix.SYS_FTRUNCATE, uintptr(fd), uintptr(size))
}

func (t *Task) FcntlInt(fd, cmd, arg int) (int, error) {
	return t.call(unix.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
}

func (t *Task) SetNonblock(fd int, nonblocking bool) error {
	flags, err := t.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 == nonblocking {
		return err
	}
	_, err = t.FcntlInt(fd, unix.F_SETFL, flags^unix.O_NONBLOCK)
	return err
}

// Ioctl is for requests that read a structure, and write none.
func (t *Task) Ioctl(fd int, request uintptr, arg []byte) (int, error) {
	t.begin()
	return t.call(unix.SYS_IOCTL, uintptr(fd), request, t.put(arg))
}

func (t *Task) Unshare(flags int) error { return t.do(unix.SYS_UNSHARE, uintptr(flags)) }

func (t *Task) LandlockRestrictSelf(ruleset, flags int) error {
	return t.do(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), uintptr(flags))
}

// An Entry is one record of [Task.Getdents].
type Entry struct {
	Name string
	Type byte // DT_DIR and so on; DT_UNKNOWN where the filesystem does not say
}

// Entries takes records apart.
func Entries(records []byte) (all []Entry) {
	const head = int(unsafe.Offsetof(unix.Dirent{}.Name))
	for len(records) > head {
		size := int(binary.NativeEndian.Uint16(records[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
		if size <= head || size > len(records) {
			return all
		}
		name := unix.ByteSliceToString(records[head:size])
		if name != "." && name != ".." {
			all = append(all, Entry{name, records[unsafe.Offsetof(unix.Dirent{}.Type)]})
		}
		records = records[size:]
	}
	return all
}
