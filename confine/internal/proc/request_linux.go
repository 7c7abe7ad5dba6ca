package proc

import (
	"bytes"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ReadMemory(tid int, addr uint64, into []byte) (int, syscall.Errno) {
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

// statusOf reads proc_pid_status(5): the process of a thread, as the jail knows it, and
// its umask.
func StatusOf(tid int) (tgid, umask int, errno syscall.Errno) {
	b, err := ReadThread(tid, "status", make([]byte, StatusSize))
	if err != nil {
		return 0, 0, unix.ESRCH
	}
	umask = -1
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			u, _ := strconv.ParseInt(string(bytes.TrimSpace(v)), 8, 32)
			umask = int(u)
		}
	}
	if tgid = lastNumber(b, "NStgid:"); tgid < 0 || umask < 0 {
		return 0, 0, unix.ESRCH
	}
	return tgid, umask, 0
}
