package confine

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Die ends this process as the program ended: with its status, or by its signal and without a
// core dump, so that the parent sees the same wait status.
func (e Exit) Die() {
	if e.Signal != 0 {
		dieBySignal(e.Signal)
	}
	os.Exit(e.Code)
}

// dieBySignal ends this process by the signal. It returns if the signal cannot do that, for
// example because this process is PID 1 of a PID namespace.
func dieBySignal(sig syscall.Signal) {
	runtime.LockOSThread()
	if Undumpable() != nil { // a core_pattern with a pipe ignores RLIMIT_CORE
		return
	}
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// Go's runtime prints a stack trace on some signals, and keeps an inherited SIG_IGN, so
	// set SIG_DFL directly.
	var action struct {
		handler, flags, restorer uintptr
		mask                     uint64
	} // SIG_DFL
	const unblock, maskSize = 1, 8
	mask := uint64(1) << (sig - 1)
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unblock, uintptr(unsafe.Pointer(&mask)), 0, maskSize, 0, 0)
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(sig))
}

// Undumpable keeps the user's other processes from reading the memory and the environment of
// the calling process (PR_SET_DUMPABLE in prctl(2)). A program that holds secrets of its
// servers calls it after the first server has started.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
