package main

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine"
)

// exitBySignal ends this process by a signal, without a core dump: who waits for it sees what
// it would have seen of the server. It returns where a signal cannot end the process,
// which is so for the first one of a PID namespace.
func exitBySignal(sig syscall.Signal) {
	runtime.LockOSThread()
	if confine.Undumpable() != nil { // a pattern that pipes dumps to a program asks no limit
		return
	}
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// Of some signals Go's runtime makes a stack trace, and an inherited SIG_IGN stays.
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
