package stub

import (
	"encoding/binary"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The methods below make the system calls of the functions of package unix that have the names of
// the methods. Their comments only say what differs.

// call makes a system call, or fails with ENOMEM if the arena is full.
func (t *Task) call(nr uintptr, args ...uintptr) (int, error) {
	if t.full && !t.recording {
		t.full = false // the next call may fit
		return -1, unix.ENOMEM
	}
	r, err := t.Call(nr, args...)
	if err != nil {
		return -1, err
	}
	return int(r), nil
}

func (t *Task) do(nr uintptr, args ...uintptr) error {
	_, err := t.call(nr, args...)
	return err
}

// path copies a path into the arena. One with a NUL in it fails like one that does not fit.
func (t *Task) path(p string) uintptr {
	if strings.IndexByte(p, 0) >= 0 {
		t.full = true
	}
	return t.cString(p)
}

func (t *Task) Openat(dir int, path string, flags int, mode uint32) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_OPENAT, uintptr(dir), t.path(path), uintptr(flags|unix.O_LARGEFILE), uintptr(mode))
}

func (t *Task) Openat2(dir int, path string, how *unix.OpenHow) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_OPENAT2, uintptr(dir), t.path(path), copyStruct(t, how), unsafe.Sizeof(*how))
}

func (t *Task) Close(fd int) error { return t.do(unix.SYS_CLOSE, uintptr(fd)) }

func (t *Task) CloseRange(first, last uint, flags int) error {
	return t.do(unix.SYS_CLOSE_RANGE, uintptr(first), uintptr(last), uintptr(flags))
}

func (t *Task) Write(fd int, b []byte) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_WRITE, uintptr(fd), t.copyIn(b), uintptr(len(b)))
}

func (t *Task) Read(fd int, b []byte) (int, error) {
	t.prepareArena()
	at := t.alloc(len(b))
	clear(at)
	n, err := t.call(unix.SYS_READ, uintptr(fd), address(at), uintptr(len(b)))
	if err == nil {
		t.OnComplete(func() error { copy(b, at); return nil })
	}
	return n, err
}

func (t *Task) Mkdirat(dir int, path string, mode uint32) error {
	t.prepareArena()
	return t.do(unix.SYS_MKDIRAT, uintptr(dir), t.path(path), uintptr(mode))
}

func (t *Task) Mknodat(dir int, path string, mode uint32, dev int) error {
	t.prepareArena()
	return t.do(unix.SYS_MKNODAT, uintptr(dir), t.path(path), uintptr(mode), uintptr(dev))
}

func (t *Task) Symlinkat(target string, dir int, path string) error {
	t.prepareArena()
	return t.do(unix.SYS_SYMLINKAT, t.path(target), uintptr(dir), t.path(path))
}

func (t *Task) Unlinkat(dir int, path string, flags int) error {
	t.prepareArena()
	return t.do(unix.SYS_UNLINKAT, uintptr(dir), t.path(path), uintptr(flags))
}

func (t *Task) Renameat2(fromDir int, from string, toDir int, to string, flags uint) error {
	t.prepareArena()
	return t.do(unix.SYS_RENAMEAT2, uintptr(fromDir), t.path(from), uintptr(toDir), t.path(to), uintptr(flags))
}

// Faccessat takes no flags: faccessat2 needs Linux 5.8.
func (t *Task) Faccessat(dir int, path string, mode uint32) error {
	t.prepareArena()
	return t.do(unix.SYS_FACCESSAT, uintptr(dir), t.path(path), uintptr(mode))
}

func (t *Task) Fstat(fd int, st *unix.Stat_t) error {
	t.prepareArena()
	return fillStruct(t, st, func(at uintptr) error { return t.do(unix.SYS_FSTAT, uintptr(fd), at) })
}

func (t *Task) Fstatfs(fd int, st *unix.Statfs_t) error {
	t.prepareArena()
	return fillStruct(t, st, func(at uintptr) error { return t.do(unix.SYS_FSTATFS, uintptr(fd), at) })
}

func (t *Task) Statx(dir int, path string, flags, mask int, st *unix.Statx_t) error {
	t.prepareArena()
	name := t.path(path)
	return fillStruct(t, st, func(at uintptr) error {
		return t.do(unix.SYS_STATX, uintptr(dir), name, uintptr(flags), uintptr(mask), at)
	})
}

// fillStruct makes a call that fills a structure in.
func fillStruct[T any](t *Task, v *T, call func(at uintptr) error) error {
	at := t.alloc(int(unsafe.Sizeof(*v)))
	if err := call(address(at)); err != nil {
		return err
	}
	return t.OnComplete(func() error {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)), at)
		return nil
	})
}

func (t *Task) Chdir(path string) error {
	t.prepareArena()
	return t.do(unix.SYS_CHDIR, t.path(path))
}

func (t *Task) Fchdir(fd int) error { return t.do(unix.SYS_FCHDIR, uintptr(fd)) }

func (t *Task) PivotRoot(newRoot, putOld string) error {
	t.prepareArena()
	return t.do(unix.SYS_PIVOT_ROOT, t.path(newRoot), t.path(putOld))
}

func (t *Task) Unmount(path string, flags int) error {
	t.prepareArena()
	return t.do(unix.SYS_UMOUNT2, t.path(path), uintptr(flags))
}

func (t *Task) MountSetattr(dir int, path string, flags uint, attr *unix.MountAttr) error {
	t.prepareArena()
	return t.do(unix.SYS_MOUNT_SETATTR, uintptr(dir), t.path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func (t *Task) MoveMount(fromDir int, from string, toDir int, to string, flags int) error {
	t.prepareArena()
	return t.do(unix.SYS_MOVE_MOUNT, uintptr(fromDir), t.path(from), uintptr(toDir), t.path(to), uintptr(flags))
}

func (t *Task) OpenTree(dir int, path string, flags uint) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_OPEN_TREE, uintptr(dir), t.path(path), uintptr(flags))
}

func (t *Task) OpenTreeAttr(dir int, path string, flags uint, attr *unix.MountAttr) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_OPEN_TREE_ATTR, uintptr(dir), t.path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func (t *Task) Fsopen(kind string, flags int) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_FSOPEN, t.path(kind), uintptr(flags))
}

func (t *Task) FsconfigSetString(fd int, key, value string) error {
	t.prepareArena()
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_STRING, t.path(key), t.path(value), 0)
}

func (t *Task) FsconfigSetFlag(fd int, key string) error {
	t.prepareArena()
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_FLAG, t.path(key), 0, 0)
}

func (t *Task) FsconfigCreate(fd int) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
}

func (t *Task) Fsmount(fd, flags, attr int) (int, error) {
	return t.call(unix.SYS_FSMOUNT, uintptr(fd), uintptr(flags), uintptr(attr))
}

func (t *Task) Sethostname(name string) error {
	t.prepareArena()
	return t.do(unix.SYS_SETHOSTNAME, t.cString(name), uintptr(len(name)))
}

func (t *Task) Umask(mask int) int {
	old, _ := t.call(unix.SYS_UMASK, uintptr(mask))
	return old
}

func (t *Task) Setsid() error { return t.do(unix.SYS_SETSID) }

func (t *Task) Dup3(from, to, flags int) error {
	return t.do(unix.SYS_DUP3, uintptr(from), uintptr(to), uintptr(flags))
}

func (t *Task) Prctl(option int, args ...uintptr) (int, error) {
	var a [5]uintptr
	a[0] = uintptr(option)
	copy(a[1:], args)
	return t.call(unix.SYS_PRCTL, a[:]...)
}

func (t *Task) Capset(hdr *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	t.prepareArena()
	return t.do(unix.SYS_CAPSET, copyStruct(t, hdr), copyStruct(t, data))
}

func (t *Task) Capget(hdr *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	t.prepareArena()
	head := copyStruct(t, hdr)
	return fillStruct(t, data, func(at uintptr) error { return t.do(unix.SYS_CAPGET, head, at) })
}

func (t *Task) Setrlimit(resource int, limit *unix.Rlimit) error {
	t.prepareArena()
	return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), copyStruct(t, limit), 0)
}

func (t *Task) Getrlimit(resource int, limit *unix.Rlimit) error {
	t.prepareArena()
	return fillStruct(t, limit, func(at uintptr) error { return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), 0, at) })
}

// Seccomp installs a filter, given as struct sock_filter records, and returns the kernel's
// result.
func (t *Task) Seccomp(records []byte, flags uintptr) (int, error) {
	t.prepareArena()
	fprog := t.sockFprog(records)
	return t.call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, fprog)
}

// Wait4 waits for a child of the task's process. The task can do nothing else meanwhile.
func (t *Task) Wait4(pid int, status *syscall.WaitStatus, options int) (int, error) {
	t.prepareArena()
	at := t.alloc(4)
	pid, err := t.call(unix.SYS_WAIT4, uintptr(pid), address(at), uintptr(options), 0)
	if err == nil && status != nil {
		t.OnComplete(func() error { *status = syscall.WaitStatus(binary.NativeEndian.Uint32(at)); return nil })
	}
	return pid, err
}

func (t *Task) Mkdir(path string, mode uint32) error { return t.Mkdirat(unix.AT_FDCWD, path, mode) }

func (t *Task) Rmdir(path string) error { return t.Unlinkat(unix.AT_FDCWD, path, unix.AT_REMOVEDIR) }

func (t *Task) Kill(pid int, signal syscall.Signal) error {
	return t.do(unix.SYS_KILL, uintptr(pid), uintptr(signal))
}

func (t *Task) Mount(source, target, kind string, flags uintptr) error {
	t.prepareArena()
	return t.do(unix.SYS_MOUNT, t.path(source), t.path(target), t.path(kind), flags, 0)
}

func (t *Task) PtraceAttach(pid int) error {
	return t.do(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(pid), 0, 0)
}

// DeathSignal stores the task's parent-death signal in four bytes (PR_GET_PDEATHSIG).
func (t *Task) DeathSignal(signal []byte) error {
	t.prepareArena()
	at := t.alloc(4)
	_, err := t.Prctl(unix.PR_GET_PDEATHSIG, address(at))
	t.OnComplete(func() error { copy(signal, at); return nil })
	return err
}

func (t *Task) Unshare(flags int) error { return t.do(unix.SYS_UNSHARE, uintptr(flags)) }

func (t *Task) Setns(fd, kind int) error { return t.do(unix.SYS_SETNS, uintptr(fd), uintptr(kind)) }

// Ioctl is for requests that only read their argument.
func (t *Task) Ioctl(fd int, request uintptr, arg []byte) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_IOCTL, uintptr(fd), request, t.copyIn(arg))
}

func (t *Task) FcntlInt(fd, cmd, arg int) (int, error) {
	return t.call(unix.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
}

// ExchangeRlimit sets a limit and returns the old one.
func (t *Task) ExchangeRlimit(resource int, limit, old *unix.Rlimit) error {
	t.prepareArena()
	now := copyStruct(t, limit)
	return fillStruct(t, old, func(at uintptr) error { return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), now, at) })
}
