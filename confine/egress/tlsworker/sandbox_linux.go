package tlsworker

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// What the process may use: memory beyond what Go collects at, and descriptors beside
// those of its connections.
const (
	softMemory  = 256 << 20
	hardMemory  = 2 << 30
	descriptors = 64
)

// enterSandbox gives up, for good and for all threads, what the work does not take: after it
// there are no files to open, no sockets to make, no programs to start, no processes
// to look into. There is no network namespace besides: who cannot make a socket has
// no network, and one costs as much as the rest of the start.
func enterSandbox(connections int) error {
	if connections <= 0 {
		connections = policy.DefaultLimits.Connections
	}
	debug.SetMemoryLimit(softMemory)
	for _, r := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_DATA, hardMemory},
		// Some at once while one of the jail's connections replaces its upstream's.
		{unix.RLIMIT_NOFILE, uint64(connections*4 + descriptors)},
	} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(r.resource, &old); err != nil {
			return err
		}
		limit := min(r.value, old.Max)
		if err := syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit %d: %w", r.resource, err)
		}
	}
	// What Prepare read is in memory. From here on the process needs no file.
	if err := enterLandlockDomain(); err != nil {
		return err
	}
	// The first is the thread's own, and the second asks for it and takes it along.
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
	// All threads, those that Go made before included.
	stuck, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 || stuck != 0 {
		return fmt.Errorf("seccomp: %w (thread %d)", errno, stuck)
	}
	return nil
}

// allowedSyscalls are the system calls of Go's runtime and of its poller, and those of
// connections that are there.
var allowedSyscalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_SHUTDOWN,
	unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SPLICE, unix.SYS_PIPE2,
	unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, unix.SYS_FCNTL, unix.SYS_FSTAT,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, // of a C library, which is there when somebody builds with cgo
}

// A thread of the same process has all of the first flags, and may have the others,
// which only say where its number and its storage are.
const (
	threadFlags  = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	storageFlags = unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID
)

// auditArchs are the numbers by which the kernel knows what system calls are meant.
var auditArchs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32Bit is the bit of the other system calls that amd64 has (seccomp(2)).
const x32Bit = 0x40000000

// Where things are in struct seccomp_data: of an argument the low half, which is the
// first one on these machines. The kernel takes no more of the two that are looked at.
const dataNumber, dataArch, dataFirst, dataThird = 0, 4, 16, 32

// seccompFilter allows what is needed. All else is EPERM; a call of another architecture is
// the end.
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
		// Threads, and nothing else. What clone3 is asked for cannot be seen.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		missing,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 5},
		bpf.LoadAbsolute{Off: dataFirst, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(storageFlags)},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: threadFlags, SkipTrue: 1},
		allow, refuse,
		// Signals to its own threads, by which Go interrupts them.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_TGKILL, SkipTrue: 4},
		bpf.LoadAbsolute{Off: dataFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(pid), SkipTrue: 1},
		allow, refuse,
		// Memory, but none to run.
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
