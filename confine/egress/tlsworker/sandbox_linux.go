package tlsworker

import (
	"fmt"
	"net"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// GivenRootsOnly is set where the process opens no file, so that the launcher reads the host's roots.
const GivenRootsOnly = false

func checkConfined(_ *checkMessage, c *net.TCPConn) error {
	if c != nil {
		c.Close()
	}
	return nil
}

// command returns the program, and the arguments of its process.
func command(program string) (path string, argv []string, err error) {
	return program, []string{Name}, nil
}

// endsWithLauncher has the kernel end the process with the thread that started it.
func endsWithLauncher() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// The process confines itself, and reads the host's roots itself.

type check struct {
	message *checkMessage
	theirs  *net.TCPConn
}

func newCheck() (*check, error) { return &check{}, nil }

func (*check) Close() {}

func hostRoots(more []byte) ([]byte, error) { return more, nil }

func (*Worker) startError(err error) error { return err }

// enterSandbox gives up, permanently and for all threads, every right that serving does not
// need. After it the process cannot open files, create sockets, start programs or inspect
// processes. It has no network namespace of its own: without new sockets there is no network,
// and creating a namespace takes as long as the rest of the start.
func enterSandbox(connections int) error {
	if err := limitResources(connections); err != nil {
		return err
	}
	// The files that Prepare read are in memory. From here on the process opens no file.
	if err := enterLandlockDomain(); err != nil {
		return err
	}
	// no_new_privs is a property of the thread; SECCOMP_FILTER_FLAG_TSYNC copies it to all.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program, err := seccompFilter(unix.Getpid())
	if err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// The filter applies to all threads, including those that Go has already started.
	stuck, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 || stuck != 0 {
		return fmt.Errorf("seccomp: %w (thread %d)", errno, stuck)
	}
	return nil
}

// allowedSyscalls are the system calls of Go's runtime and network poller, and those on
// existing connections.
var allowedSyscalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_SHUTDOWN,
	unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SPLICE, unix.SYS_PIPE2,
	unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, unix.SYS_FCNTL, unix.SYS_FSTAT,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, // of a C library, if built with cgo
}

// clone(2) must have all of threadFlags, so that it starts a thread of the same process. It
// may have storageFlags, which set the thread's storage and report its number.
const (
	threadFlags  = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	storageFlags = unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID
)

// auditArchs are the audit architectures (AUDIT_ARCH_*) by Go's names.
var auditArchs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32Bit marks the system calls of the x32 ABI, which amd64 kernels also accept (seccomp(2)).
const x32Bit = 0x40000000

// Offsets in struct seccomp_data. Those of arguments are of the low half, which comes first on
// little-endian machines. The kernel uses only the low half of the arguments that are checked.
const dataNumber, dataArch, dataFirst, dataThird = 0, 4, 16, 32

func seccompFilter(pid int) ([]unix.SockFilter, error) {
	audit, ok := auditArchs[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("no filter is known for %s", runtime.GOARCH)
	}
	allow, refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	missing := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: audit, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: dataNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		refuse,
		// clone may only start threads. The flags of clone3 are in memory, so it fails with
		// ENOSYS and Go falls back to clone.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		missing,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 5},
		bpf.LoadAbsolute{Off: dataFirst, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(storageFlags)},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: threadFlags, SkipTrue: 1},
		allow, refuse,
		// Go preempts its threads by signals, so signals to the own process are allowed.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_TGKILL, SkipTrue: 4},
		bpf.LoadAbsolute{Off: dataFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(pid), SkipTrue: 1},
		allow, refuse,
		// Memory must not be executable.
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_MMAP, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_MPROTECT, SkipTrue: 4},
		bpf.LoadAbsolute{Off: dataThird, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.PROT_EXEC, SkipTrue: 1},
		allow, refuse,
	}
	for _, number := range allowedSyscalls {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, allow)
	}
	raw, err := bpf.Assemble(append(program, refuse))
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}
