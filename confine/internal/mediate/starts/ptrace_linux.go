package starts

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"golang.org/x/sys/unix"
)

// This file makes the calls of ptrace(2). All of them but seize and interrupt need a thread that
// has stopped, and return ESRCH if it was killed meanwhile.

func ptrace(request, pid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// seize traces a thread: it will stop at the end of an execve, and be killed if this thread ends.
// It does not stop now.
func seize(tid int) error {
	return ptrace(unix.PTRACE_SEIZE, tid, 0, unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL)
}

func interrupt(tid int) { ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) }

// detach lets a thread go, and delivers a signal that it stopped for, or 0 for none.
func detach(pid int, signal syscall.Signal) {
	ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(signal))
}

func stopsAtExec(pid int) (bool, error) {
	var info struct { // siginfo_t
		signo, errno, code int32
		rest               [116]byte
	}
	err := ptrace(unix.PTRACE_GETSIGINFO, pid, 0, uintptr(unsafe.Pointer(&info)))
	runtime.KeepAlive(&info)
	return err == nil && info.code == int32(unix.SIGTRAP)|unix.PTRACE_EVENT_EXEC<<8, err
}

// prStatus is NT_PRSTATUS of linux/elf.h.
const prStatus = 1

// registers returns the registers of a thread. A program with registers of another size, a
// 32-bit one, is an error: the jail's filter refuses all of its calls anyway.
func registers(pid int) ([]byte, error) {
	b := make([]byte, registersSize+word) // one word more, to notice a larger set
	iov := unix.Iovec{Base: &b[0]}
	iov.SetLen(len(b))
	err := ptrace(unix.PTRACE_GETREGSET, pid, prStatus, uintptr(unsafe.Pointer(&iov)))
	runtime.KeepAlive(b)
	if err == nil && iov.Len != registersSize {
		err = errImage
	}
	return b[:registersSize], err
}

func setRegisters(pid int, b []byte) error {
	iov := unix.Iovec{Base: &b[0]}
	iov.SetLen(len(b))
	err := ptrace(unix.PTRACE_SETREGSET, pid, prStatus, uintptr(unsafe.Pointer(&iov)))
	runtime.KeepAlive(b)
	return err
}

// readMemory reads the memory of a process, and stops where no memory is mapped.
func readMemory(pid int, addr uint64, into []byte) (int, error) {
	n, errno := proc.ReadMemory(pid, addr, into)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

func writeMemory(pid int, addr uint64, b []byte) (int, error) {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	return unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
}
