package testkit

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ExecWithoutNamespaces executes a program in place of this process, with a seccomp filter that
// refuses user namespaces, as in a container. It returns only with an error.
func ExecWithoutNamespaces(argv []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	if err := refuseNamespaces(); err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

// refuseNamespaces installs the filter on the calling thread and on what it starts.
func refuseNamespaces() error {
	const (
		load, jump, bits, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K

		number, firstArgument = 0, 16 // in struct seccomp_data

		allow, eperm, enosys = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: jump, K: unix.SYS_CLONE3, Jf: 1},
		{Code: ret, K: enosys}, // its flags are in memory; callers fall back on clone
		{Code: jump, K: unix.SYS_CLONE, Jt: 1},
		{Code: jump, K: unix.SYS_UNSHARE, Jf: 3},
		{Code: load, K: firstArgument},
		{Code: bits, K: unix.CLONE_NEWUSER, Jf: 1},
		{Code: ret, K: eperm},
		{Code: ret, K: allow},
	}
	return restrict(filter)
}

// WithFailing calls f on a thread whose calls of one number fail with an errno.
func WithFailing(call uint32, errno syscall.Errno, f func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread ends with this goroutine
		err := restrict([]unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		})
		if err == nil {
			f()
		}
		done <- err
	}()
	return <-done
}

// restrict installs a filter on the calling thread.
func restrict(filter []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}
