package stub

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

func Prctl(t *Task, option int, args ...uintptr) (int, error) {
	var a [5]uintptr
	a[0] = uintptr(option)
	copy(a[1:], args)
	return t.call(unix.SYS_PRCTL, a[:]...)
}

func Capset(t *Task, hdr *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	return t.do(unix.SYS_CAPSET, copyStruct(t, hdr), copyStruct(t, data))
}

func Capget(t *Task, hdr *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	head := copyStruct(t, hdr)
	return fillStruct(t, data, func(at uintptr) error { return t.do(unix.SYS_CAPGET, head, at) })
}

func Setrlimit(t *Task, resource int, limit *unix.Rlimit) error {
	return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), copyStruct(t, limit), 0)
}

func Getrlimit(t *Task, resource int, limit *unix.Rlimit) error {
	return fillStruct(t, limit, func(at uintptr) error { return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), 0, at) })
}

// ExchangeRlimit sets a limit and returns the old one.
func ExchangeRlimit(t *Task, resource int, limit, old *unix.Rlimit) error {
	now := copyStruct(t, limit)
	return fillStruct(t, old, func(at uintptr) error { return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), now, at) })
}

// Seccomp installs a filter, given as struct sock_filter records, and returns the kernel's
// result.
func Seccomp(t *Task, records []byte, flags uintptr) (int, error) {
	fprog := sockFprog(t, records)
	return t.call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, fprog)
}

func Sethostname(t *Task, name string) error {
	return t.do(unix.SYS_SETHOSTNAME, t.arena.cString(name), uintptr(len(name)))
}

func Umask(t *Task, mask int) int {
	old, _ := t.call(unix.SYS_UMASK, uintptr(mask))
	return old
}

func Setsid(t *Task) error { return t.do(unix.SYS_SETSID) }

// Wait4 waits for a child of the task's process. The task can do nothing else meanwhile.
func Wait4(t *Task, pid int, status *syscall.WaitStatus, options int) (int, error) {
	at := t.arena.alloc(4)
	pid, err := t.call(unix.SYS_WAIT4, uintptr(pid), address(at), uintptr(options), 0)
	if err == nil && status != nil {
		t.OnComplete(func() error { *status = syscall.WaitStatus(binary.NativeEndian.Uint32(at)); return nil })
	}
	return pid, err
}

func Kill(t *Task, pid int, signal syscall.Signal) error {
	return t.do(unix.SYS_KILL, uintptr(pid), uintptr(signal))
}

func PtraceAttach(t *Task, pid int) error {
	return t.do(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(pid), 0, 0)
}

func Unshare(t *Task, flags int) error { return t.do(unix.SYS_UNSHARE, uintptr(flags)) }

func Setns(t *Task, fd, kind int) error { return t.do(unix.SYS_SETNS, uintptr(fd), uintptr(kind)) }
