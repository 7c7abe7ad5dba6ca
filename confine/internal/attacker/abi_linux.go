package attacker

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"golang.org/x/sys/unix"
)

// ABIs returns the forms of an attempt, one for each ABI of the kernel if it names a
// system call. amd64 kernels also take the calls of i386 (int 0x80) and of x32, with other
// numbers. A filter that checks one ABI only can be bypassed by another.
func ABIs(form string) []string {
	verb, rest, _ := strings.Cut(form, " ")
	name, _, _ := strings.Cut(rest, " ")
	switch verb {
	case "reaches":
		name = strings.Fields(rest)[1]
	case "call":
	default:
		return []string{form}
	}
	if runtime.GOARCH != "amd64" {
		return []string{form}
	}
	out := []string{form}
	if _, ok := i386Calls[name]; ok {
		out = append(out, "i386-"+form)
	}
	return append(out, "x32-"+form)
}

// A callABI makes a system call. On kernels with more than one, all addresses in
// args are below 4 GB.
type callABI func(name string, args [6]uintptr) syscall.Errno

// noCall is the errno if the ABI lacks the call. The kernel never returns it.
const noCall = syscall.Errno(4095)

func nativeABI(name string, args [6]uintptr) syscall.Errno {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	nr, ok := seccomp.CallNumber(arch, name)
	if !ok {
		return noCall // this machine has the *at form only
	}
	return RawCall(uintptr(nr), args[:]...)
}

func x32ABI(name string, args [6]uintptr) syscall.Errno {
	nr, ok := seccomp.CallNumber(seccomp.ArchAMD64, name)
	if !ok {
		return noCall
	}
	return RawCall(uintptr(nr)|0x40000000, args[:]...)
}

// LacksI386 reports whether this is an amd64 machine on which int 0x80 makes no system call.
func LacksI386() bool {
	return runtime.GOARCH == "amd64" && I386ABI("socket", [6]uintptr{}) == unix.ENOEXEC
}

// refusesFault makes a fault of int 0x80 the answer ENOEXEC, until the function that it returns is
// called: some virtual machines have no such gate, and raise SIGSEGV. No attack takes ENOEXEC for a
// call that the kernel made, as one does ENOSYS. The handler is in the second half of code.
func refusesFault(code []byte) (restore func()) {
	handler, restorer := code[2048:], code[3072:]
	copy(handler, []byte{
		0x48, 0x83, 0x82, 168, 0, 0, 0, 2, // add qword [rdx+168], 2: the saved rip
		0x48, 0xc7, 0x82, 144, 0, 0, 0, 0xf8, 0xff, 0xff, 0xff, // mov qword [rdx+144], -ENOEXEC: the saved rax
		0xc3, // ret
	})
	copy(restorer, []byte{0xb8, 15, 0, 0, 0, 0x0f, 0x05}) // rt_sigreturn
	const siginfo, restorerFlag, onStack = 0x4, 0x04000000, 0x08000000
	action := [4]uintptr{uintptr(unsafe.Pointer(&handler[0])), siginfo | restorerFlag | onStack, uintptr(unsafe.Pointer(&restorer[0])), 0}
	var before [4]uintptr
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&action)), uintptr(unsafe.Pointer(&before)), 8, 0, 0)
	return func() {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0)
	}
}

// I386ABI is int 0x80 with six arguments. Go passes an address in AX.
func I386ABI(name string, args [6]uintptr) syscall.Errno {
	nr, ok := i386Calls[name]
	if !ok {
		return noCall
	}
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	copy(code, []byte{
		0x49, 0x89, 0xc0, // mov r8, rax
		0x55,             // push rbp
		0x41, 0x8b, 0x00, // mov eax, [r8]
		0x41, 0x8b, 0x58, 4, // mov ebx, [r8+4]
		0x41, 0x8b, 0x48, 8, // mov ecx, [r8+8]
		0x41, 0x8b, 0x50, 12, // mov edx, [r8+12]
		0x41, 0x8b, 0x70, 16, // mov esi, [r8+16]
		0x41, 0x8b, 0x78, 20, // mov edi, [r8+20]
		0x41, 0x8b, 0x68, 24, // mov ebp, [r8+24]
		0xcd, 0x80, // int 0x80
		0x5d, // pop rbp
		0xc3, // ret
	})
	defer refusesFault(code)()
	words := [7]uint32{nr}
	for i, a := range args {
		words[i+1] = uint32(a)
	}
	entry := unsafe.Pointer(unsafe.SliceData(code))
	closure := unsafe.Pointer(&entry)
	through := *(*func(unsafe.Pointer) uintptr)(unsafe.Pointer(&closure))
	r := int32(through(unsafe.Pointer(&words)))
	runtime.KeepAlive(&entry)
	runtime.KeepAlive(&words)
	if r < 0 && r > -4096 {
		return syscall.Errno(-r)
	}
	return 0
}

// arena is memory that every ABI can address.
type arena struct{ free []byte }

func newArena() (*arena, error) {
	b, err := unix.Mmap(-1, 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|lowMemory)
	return &arena{b}, err
}

func (m *arena) put(b []byte) uintptr {
	copy(m.free, b)
	at := uintptr(unsafe.Pointer(unsafe.SliceData(m.free)))
	m.free = m.free[(len(b)+16)&^15:]
	return at
}

// words returns the arguments of a call for the words of a form: a number, @TEXT for the address
// of a string, #N for the address of N zero bytes, =FILE for a descriptor that reads the file.
func (m *arena) words(list []string) (args [6]uintptr, err error) {
	for i, w := range list {
		switch {
		case strings.HasPrefix(w, "@"):
			args[i] = m.put(append([]byte(w[1:]), 0))
		case strings.HasPrefix(w, "#"):
			args[i] = m.put(make([]byte, Number(w[1:])))
		case strings.HasPrefix(w, "="):
			fd, err := unix.Open(w[1:], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return args, err
			}
			args[i] = uintptr(fd)
		default:
			n, err := strconv.ParseInt(w, 0, 64)
			if err != nil {
				panic(err)
			}
			args[i] = uintptr(n)
		}
	}
	return args, nil
}

// callThrough returns the verb `call NAME ARGS`. It succeeds if the call does.
func callThrough(g callABI) func(a []string) (string, error) {
	return silent(func(a []string) error {
		m, err := newArena()
		if err != nil {
			return err
		}
		args, err := m.words(a[1:])
		if err != nil {
			return err
		}
		if errno := g(a[0], args); errno != 0 {
			return errno
		}
		return nil
	})
}

// reachThrough returns the verb `reaches ERRNO NAME ARGS`, for calls that would do harm if they
// succeeded. The arguments cannot work. If the errno is ERRNO, the call got past the filter.
func reachThrough(g callABI) func(a []string) (string, error) {
	call := callThrough(g)
	return silent(func(a []string) error {
		_, err := call(a[1:])
		if errno, ok := err.(syscall.Errno); ok && unix.ErrnoName(errno) == a[0] {
			return nil
		}
		if err == nil {
			return nil
		}
		return err
	})
}

// i386Calls are the numbers of the 32-bit table.
var i386Calls = map[string]uint32{
	"open": 5, "creat": 8, "link": 9, "unlink": 10, "mknod": 14, "chmod": 15, "mount": 21, "ptrace": 26, "rename": 38, "mkdir": 39, "acct": 51,
	"umount2": 52, "ioctl": 54, "chroot": 61, "sethostname": 74, "settimeofday": 79, "symlink": 83, "uselib": 86, "swapon": 87, "reboot": 88, "truncate": 92,
	"setpriority": 97, "ioperm": 101, "syslog": 103, "iopl": 110, "vhangup": 111, "swapoff": 115, "clone": 120, "setdomainname": 121, "modify_ldt": 123,
	"adjtimex": 124, "init_module": 128, "delete_module": 129, "quotactl": 131, "personality": 136, "prctl": 172, "chown": 182, "pivot_root": 217,
	"setxattr": 226, "clock_settime": 264, "mq_open": 277, "kexec_load": 283, "add_key": 286, "request_key": 287, "keyctl": 288, "ioprio_set": 289,
	"openat": 295, "mkdirat": 296, "mknodat": 297, "unlinkat": 301, "renameat": 302, "linkat": 303, "symlinkat": 304, "fchmodat": 306, "unshare": 310,
	"utimensat": 320, "perf_event_open": 336, "fanotify_init": 338, "prlimit64": 340, "name_to_handle_at": 341, "open_by_handle_at": 342, "clock_adjtime": 343,
	"setns": 346, "process_vm_readv": 347, "process_vm_writev": 348, "kcmp": 349, "finit_module": 350, "sched_setattr": 351, "renameat2": 353, "seccomp": 354,
	"memfd_create": 356, "bpf": 357, "execveat": 358, "socket": 359, "socketpair": 360, "connect": 362, "userfaultfd": 374, "semget": 393, "shmget": 395,
	"msgget": 399, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
	"openat2": 437, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "fchmodat2": 452, "file_setattr": 469,
	"fcntl": 55, "getxattr": 229, "io_setup": 245, "io_uring_enter": 426, "io_uring_register": 427, "open_tree_attr": 467, "sched_setaffinity": 241, "sched_setscheduler": 156, "setxattrat": 463,
}
