package integration

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"golang.org/x/sys/unix"
)

// A seccompRow is one call with arguments that do no harm when it is not
// filtered, also to root.
type seccompRow struct {
	name string
	call string
	args []uintptr
	want syscall.Errno // 0: as without a filter
	mode string        // of seccompModes; "" is "namespaces"
	raw  func() syscall.Errno
}

const (
	badFD    = ^uintptr(0)
	noSuch   = 54321   // a user ID, process ID or key that does not exist
	garbage  = 1 << 40 // in a half that the kernel does not look at
	faulting = 1       // an address that faults

	eperm, enosys, noFamily = unix.EPERM, unix.ENOSYS, unix.EAFNOSUPPORT
)

// seccompTable collects rows, which are numbered over all subjects.
type seccompTable struct{ rows []seccompRow }

func (t *seccompTable) add(want syscall.Errno, call string, args ...uintptr) {
	t.rows = append(t.rows, seccompRow{name: fmt.Sprintf("%d %s", len(t.rows), call), call: call, args: args, want: want})
}

// strict adds a row that is tried under the strictest filter.
func (t *seccompTable) strict(want syscall.Errno, call string, args ...uintptr) {
	t.add(want, call, args...)
	t.rows[len(t.rows)-1].mode = "strict"
}

// seccompRows are the rows of all subjects.
func seccompRows() []seccompRow {
	var t seccompTable
	for _, subject := range []func(*seccompTable){
		missingRows, namespaceRows, mountRows, processRows, administrationRows, ownProcessRows, ioctlRows, modeRows,
		socketRows, optionRows, sendRows, openRows, ipcRows, sharedRows, abiRows,
	} {
		subject(&t)
	}
	return t.rows
}

// missingRows are calls that are answered as by a kernel without them.
func missingRows(t *seccompTable) {
	t.add(enosys, "clone3", 0, 0)
	t.add(enosys, "io_uring_setup", 0, 0)
	t.add(enosys, "io_uring_enter", badFD)
	t.add(enosys, "io_uring_register", badFD)
	t.add(enosys, "openat2", badFD, 0, 0, 0)
	t.add(enosys, "statmount")
	t.add(enosys, "listmount")
	t.add(enosys, "listns")
	t.add(enosys, "vmsplice", badFD, 0, 0, 0)
	t.add(unix.EINVAL, "splice", badFD, 0, badFD, 0, 1, 0)
	t.add(unix.EINVAL, "tee", badFD, badFD, 1, 0)
	for _, cmd := range []uintptr{unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW} {
		t.add(unix.EINVAL, "fcntl", badFD, cmd, faulting)
	}
	for _, call := range []string{"io_setup", "io_destroy", "io_submit", "io_getevents", "io_pgetevents", "io_cancel"} {
		t.add(enosys, call, badFD)
	}
}

func namespaceRows(t *seccompTable) {
	// CLONE_THREAD without CLONE_SIGHAND is EINVAL: nothing is ever started.
	for _, ns := range []uintptr{unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET} {
		t.add(eperm, "clone", ns|unix.CLONE_THREAD)
		t.add(eperm, "clone", ns|unix.CLONE_THREAD|garbage)
		t.add(eperm, "unshare", ns)
	}
	t.add(0, "clone", unix.CLONE_THREAD)
	t.add(0, "clone", unix.CLONE_THREAD|unix.CLONE_FILES)
	// CLONE_SIGHAND without CLONE_VM is EINVAL.
	t.add(eperm, "clone", unix.CLONE_SIGHAND|unix.CLONE_FILES)
	t.add(0, "clone", unix.CLONE_SIGHAND)
	t.add(0, "clone", unix.CLONE_THREAD|unix.CLONE_NEWNS<<32)
	t.add(eperm, "unshare", unix.CLONE_NEWTIME)
	t.add(eperm, "unshare", 1<<20)
	t.add(eperm, "unshare", garbage)
	t.add(0, "unshare", unix.CLONE_FS|unix.CLONE_FILES)
	t.add(eperm, "setns", badFD, 0)
}

func mountRows(t *seccompTable) {
	t.add(eperm, "mount")
	t.add(eperm, "umount2")
	t.add(eperm, "move_mount", badFD, 0, badFD, 0, 0)
	t.add(eperm, "open_tree", badFD)
	t.add(eperm, "open_tree_attr", badFD)
	t.add(eperm, "fsopen")
	t.add(eperm, "fsconfig", badFD)
	t.add(eperm, "fsmount", badFD)
	t.add(eperm, "fspick", badFD)
	t.add(eperm, "mount_setattr", badFD, 0, 1<<31)
	t.add(eperm, "pivot_root")
	t.add(eperm, "chroot")
}

// processRows are reaches into other processes.
func processRows(t *seccompTable) {
	self := uintptr(os.Getpid())
	t.add(eperm, "ptrace", unix.PTRACE_ATTACH, 0)
	t.add(eperm, "process_vm_readv", self)
	t.add(eperm, "process_vm_writev", self)
	t.add(eperm, "process_madvise", badFD)
	t.add(eperm, "pidfd_getfd", badFD)
	t.add(eperm, "kcmp", self, self, 0, 0, 0)
}

// administrationRows are calls that administer the machine or open the kernel.
func administrationRows(t *seccompTable) {
	t.add(eperm, "bpf", noSuch)
	t.add(eperm, "perf_event_open")
	t.add(eperm, "userfaultfd", badFD)
	t.add(eperm, "kexec_load", 0, 0, 0, 0xffff)
	t.add(eperm, "kexec_file_load", badFD, badFD, 0, 0, badFD)
	t.add(eperm, "init_module")
	t.add(eperm, "finit_module", badFD, 0, 0xffff)
	t.add(eperm, "delete_module")
	t.add(eperm, "swapon")
	t.add(eperm, "swapoff")
	t.add(eperm, "fanotify_init", badFD)
	t.add(eperm, "quotactl")
	t.add(eperm, "quotactl_fd", badFD)
	t.add(eperm, "syslog", 99)
	t.add(eperm, "reboot")
	t.add(eperm, "sethostname", 0, badFD)
	t.add(eperm, "setdomainname", 0, badFD)
	t.add(eperm, "settimeofday", faulting)
	t.add(eperm, "clock_settime", 1, faulting)
	t.add(eperm, "adjtimex")
	t.add(eperm, "clock_adjtime")
	t.add(eperm, "acct", faulting)
	t.add(eperm, "iopl", 99)
	t.add(eperm, "ioperm")
	t.add(eperm, "modify_ldt")
	t.add(eperm, "vhangup") // the child has no terminal
	t.add(eperm, "lookup_dcookie")
	t.add(eperm, "nfsservctl")
	t.add(eperm, "uselib")
	t.add(eperm, "ustat", 0, faulting)
	t.add(eperm, "add_key")
	t.add(eperm, "request_key")
	t.add(eperm, "keyctl", noSuch)
	t.add(eperm, "name_to_handle_at", badFD)
	t.add(eperm, "open_by_handle_at", badFD)
}

// ownProcessRows are calls that a process may make on itself and on no other process.
func ownProcessRows(t *seccompTable) {
	self := uintptr(os.Getpid())
	t.add(eperm, "personality", 0x0040000) // ADDR_NO_RANDOMIZE
	t.add(0, "personality", 0xffffffff)
	t.add(0, "personality", 0xffffffff|garbage)
	t.add(eperm, "prlimit64", self, unix.RLIMIT_NOFILE)
	t.add(0, "prlimit64", 0, unix.RLIMIT_NOFILE)
	t.add(0, "prlimit64", garbage, unix.RLIMIT_NOFILE)
	t.add(eperm, "setpriority", unix.PRIO_PROCESS, self, 0)
	t.add(eperm, "setpriority", unix.PRIO_USER, noSuch, 0)
	t.add(0, "setpriority", unix.PRIO_PROCESS, 0, 0)
	t.add(eperm, "ioprio_set", 1, self, 0)
	t.add(eperm, "ioprio_set", 3, noSuch, 0)
	t.add(0, "ioprio_set", 1, 0, 0)
	t.add(0, "sched_setaffinity", self)
	t.strict(eperm, "sched_setaffinity", self)
	t.strict(0, "sched_setaffinity", 0)
	t.strict(eperm, "sched_setscheduler", self)
	t.strict(eperm, "sched_setparam", self)
	t.strict(eperm, "sched_setattr", self)

	t.add(eperm, "lsm_set_self_attr", 100, 0, 0, 0)
	t.add(eperm, "seccomp", 1, 8)
	t.add(0, "seccomp", 1, 0)
	t.add(eperm, "prctl", unix.PR_SET_MM, 99, 0, 0, 1)
	t.add(0, "prctl", unix.PR_GET_DUMPABLE)
	t.add(0, "prctl", unix.PR_SET_NAME|garbage, 0)
	t.add(unix.EINVAL, "prctl", unix.PR_FUTEX_HASH, unix.PR_FUTEX_HASH_GET_SLOTS)
	t.add(unix.EINVAL, "prctl", unix.PR_FUTEX_HASH|garbage, unix.PR_FUTEX_HASH_GET_SLOTS)
	t.add(unix.EINVAL, "prctl", unix.PR_GET_TSC, 0)
}

func ioctlRows(t *seccompTable) {
	for _, cmd := range []uintptr{unix.TIOCSTI, 0x541c, unix.TIOCSETD} {
		t.add(eperm, "ioctl", badFD, cmd)
		t.add(eperm, "ioctl", badFD, cmd|garbage)
	}
	for _, cmd := range []uintptr{
		0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x5000943f, 0x4008941a, 0xc0c09425, // btrfs: subvolumes and their flags
		unix.FS_IOC_ADD_ENCRYPTION_KEY, unix.FS_IOC_REMOVE_ENCRYPTION_KEY, unix.FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS, unix.FS_IOC_SET_ENCRYPTION_POLICY,
		unix.FS_IOC_GET_ENCRYPTION_POLICY_EX, unix.FS_IOC_GET_ENCRYPTION_KEY_STATUS, unix.FS_IOC_ENABLE_VERITY, 0x401c5820, 0x40086604, 0xc0045877, 0xf501, 0x40047211,
		unix.TIOCGSERIAL, unix.NS_GET_USERNS, unix.PIDFD_GET_PID_NAMESPACE, unix.BLKGETSIZE64, 0xae01, 0,
	} {
		t.add(unix.ENOTTY, "ioctl", badFD, cmd)
		t.add(unix.ENOTTY, "ioctl", badFD, cmd|garbage)
		t.strict(unix.ENOTTY, "ioctl", badFD, cmd)
	}
	t.add(eperm, "ioctl", badFD, unix.SIOCSIFFLAGS)
	t.add(unix.EOPNOTSUPP, "ioctl", badFD, unix.SIOCETHTOOL)
	for _, cmd := range []uintptr{unix.TCGETS, unix.FICLONE, unix.FICLONERANGE, unix.FS_IOC_GETFLAGS, unix.TIOCGWINSZ, unix.TIOCINQ, unix.SIOCGIFINDEX, 0x5421, 0x5451, 2} {
		t.add(0, "ioctl", badFD, cmd)
		t.add(0, "ioctl", badFD, cmd|garbage)
		t.strict(0, "ioctl", badFD, cmd)
	}
}

// modeRows are files with an identity of their owner, and devices.
func modeRows(t *seccompTable) {
	t.add(eperm, "chmod", 0, 0o4755)
	t.add(eperm, "chmod", 0, 0o2755)
	t.add(0, "chmod", 0, 0o1777)
	t.add(eperm, "fchmod", badFD, 0o4755)
	t.add(0, "fchmod", badFD, 0o755)
	t.add(eperm, "fchmodat", badFD, 0, 0o2755)
	t.add(eperm, "fchmodat2", badFD, 0, 0o4755, 0)
	t.add(eperm, "open", 0, unix.O_CREAT, 0o4755)
	t.add(eperm, "open", 0, unix.O_TMPFILE|unix.O_RDWR, 0o2755)
	t.add(0, "open", 0, 0, 0o4755)
	t.add(eperm, "openat", badFD, 0, unix.O_CREAT, 0o4755)
	t.add(eperm, "openat", badFD, 0, unix.O_TMPFILE|unix.O_RDWR|garbage, 0o4755|garbage)
	t.add(0, "openat", badFD, 0, unix.O_CREAT, 0o644)
	t.add(0, "openat", badFD, 0, 0, 0o4755)
	t.add(eperm, "creat", 0, 0o4755)
	for _, kind := range []uintptr{unix.S_IFCHR, unix.S_IFBLK, unix.S_IFREG | unix.S_ISUID, unix.S_IFREG | unix.S_ISGID} {
		t.add(eperm, "mknod", 0, kind|0o644, 1<<8|3)
		t.add(eperm, "mknodat", badFD, 0, kind|0o644|garbage, 1<<8|3)
	}
	for _, kind := range []uintptr{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK} {
		t.add(0, "mknod", 0, kind|0o644, 0)
		t.add(0, "mknodat", badFD, 0, kind|0o644, 0)
	}
	t.add(eperm, "renameat2", badFD, 0, badFD, 0, 4)
	t.add(0, "renameat2", badFD, 0, badFD, 0, 1)
	t.add(0, "mkdir", 0, 0o755)
	t.add(0, "unlink")
	t.add(0, "rename")
}

func socketRows(t *seccompTable) {
	for _, family := range []uintptr{3, 4, 5, 15, 17, 21, 29, 30, 31, 38, 40, 44, 45} {
		t.add(noFamily, "socket", family, unix.SOCK_RAW, 0)
		t.add(noFamily, "socket", family, unix.SOCK_DGRAM, 0)
		t.add(noFamily, "socket", family, unix.SOCK_SEQPACKET, 0)
		t.add(noFamily, "socket", family, unix.SOCK_STREAM, 0)
	}
	t.add(noFamily, "socket", unix.AF_NETLINK, unix.SOCK_RAW, 0)
	t.add(noFamily, "socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)
	for _, family := range []uintptr{unix.AF_INET, unix.AF_INET6} {
		t.add(noFamily, "socket", family, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		t.add(noFamily, "socket", family, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
		t.add(noFamily, "socket", family, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)
		t.add(noFamily, "socket", family, unix.SOCK_STREAM, unix.IPPROTO_SCTP)
		t.add(noFamily, "socket", family, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP)
		t.add(noFamily, "socket", family, unix.SOCK_STREAM, 256) // SMC
		t.add(noFamily, "socket", family, unix.SOCK_PACKET, 0x300)
		t.add(unix.EPROTONOSUPPORT, "socket", family, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		t.add(0, "socket", family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
		t.add(0, "socket", family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
		t.strict(noFamily, "socket", family, unix.SOCK_STREAM, 0)
		t.strict(noFamily, "socket", family, unix.SOCK_DGRAM, 0)
	}
	t.add(0, "socket", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	t.add(0, "socket", unix.AF_UNIX|garbage, unix.SOCK_DGRAM, 0)
	t.strict(noFamily, "socket", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	var pair [2]int32
	to := uintptr(unsafe.Pointer(&pair))
	pinned = append(pinned, &pair)
	t.add(noFamily, "socketpair", unix.AF_INET, unix.SOCK_STREAM, 0, to)
	t.add(0, "socketpair", unix.AF_UNIX, unix.SOCK_DGRAM, 0, to)
	t.strict(0, "socketpair", unix.AF_UNIX, unix.SOCK_STREAM, 0, to)
	t.strict(noFamily, "socketpair", unix.AF_UNIX, unix.SOCK_DGRAM, 0, to)
	t.strict(noFamily, "socketpair", unix.AF_UNIX, unix.SOCK_RAW, 0, to)
}

// optionRows are options of sockets. Without a filter the kernel answers EBADF.
func optionRows(t *seccompTable) {
	for _, of := range []struct {
		level   uintptr
		options []uintptr
	}{
		{unix.SOL_SOCKET, []uintptr{
			unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF, unix.SO_LOCK_FILTER,
			unix.SO_ZEROCOPY, unix.SO_TXTIME, unix.SO_RESERVE_MEM, 200, unix.SO_ATTACH_FILTER | garbage,
		}},
		{unix.SOL_TCP, []uintptr{unix.TCP_ULP, unix.TCP_FASTOPEN, unix.TCP_REPAIR}},
		{unix.SOL_IP, []uintptr{unix.IP_OPTIONS, unix.IP_MSFILTER}},
		{unix.SOL_IPV6, []uintptr{32 /* IPV6_FLOWLABEL_MGR */, unix.IPV6_RTHDR}},
		{unix.SOL_PACKET, []uintptr{unix.PACKET_RX_RING}},
		{unix.SOL_SOCKET | garbage, []uintptr{unix.SO_ATTACH_FILTER}},
		{unix.SOL_SOCKET | 1<<16, []uintptr{unix.SO_KEEPALIVE}},
	} {
		for _, option := range of.options {
			t.add(unix.ENOPROTOOPT, "setsockopt", badFD, of.level, option, 0, 0)
			t.strict(unix.ENOPROTOOPT, "setsockopt", badFD, of.level, option, 0, 0)
		}
	}
	t.add(0, "setsockopt", badFD, unix.SOL_SOCKET|garbage, unix.SO_KEEPALIVE|garbage, 0, 0)
	t.add(0, "setsockopt", badFD, unix.SOL_TCP, unix.TCP_NODELAY, 0, 0)
	t.add(0, "setsockopt", badFD, unix.SOL_IP, unix.IP_ADD_MEMBERSHIP, 0, 0)
	t.strict(0, "setsockopt", badFD, unix.SOL_SOCKET, unix.SO_RCVBUF, 0, 0)
}

// sendRows are connections by a message, and one that keeps what it sends.
func sendRows(t *seccompTable) {
	t.add(unix.EOPNOTSUPP, "sendto", badFD, 0, 0, unix.MSG_FASTOPEN)
	t.add(unix.EOPNOTSUPP, "sendmsg", badFD, 0, unix.MSG_FASTOPEN)
	t.add(unix.EOPNOTSUPP, "sendmmsg", badFD, 0, 0, unix.MSG_FASTOPEN)
	t.add(unix.EOPNOTSUPP, "sendto", badFD, 0, 0, unix.MSG_ZEROCOPY)
	t.add(unix.EOPNOTSUPP, "sendmsg", badFD, 0, unix.MSG_ZEROCOPY|unix.MSG_NOSIGNAL)
	t.add(unix.EOPNOTSUPP, "sendmmsg", badFD, 0, 0, unix.MSG_ZEROCOPY)
	t.add(0, "sendto", badFD, 0, 0, unix.MSG_NOSIGNAL)
}

// openRows are ways to change a file without a right that Landlock asks for.
func openRows(t *seccompTable) {
	t.add(eperm, "open", faulting, 3)
	t.add(eperm, "openat", badFD, faulting, 3|unix.O_TRUNC)
	t.strict(eperm, "openat", badFD, faulting, 3|unix.O_TRUNC)
	t.strict(eperm, "truncate", faulting, 0)
	for _, call := range []string{"setxattr", "lsetxattr", "removexattr", "lremovexattr"} {
		t.strict(unix.EOPNOTSUPP, call, faulting, faulting, faulting, 0, 0)
		t.add(0, call, faulting, faulting, faulting, 0, 0)
	}
	for _, call := range []string{"getxattr", "lgetxattr", "listxattr", "llistxattr"} {
		t.strict(unix.EOPNOTSUPP, call, faulting, faulting, faulting, 0)
		t.add(0, call, faulting, faulting, faulting, 0)
	}
	t.strict(unix.EOPNOTSUPP, "fgetxattr", badFD, faulting)
	t.strict(unix.EOPNOTSUPP, "flistxattr", badFD)
	t.strict(enosys, "getxattrat", badFD, faulting, 0, faulting, faulting, 16)
	t.strict(enosys, "listxattrat", badFD, faulting)
	t.strict(unix.EOPNOTSUPP, "fsetxattr", badFD, faulting, faulting, 0, 0)
	t.strict(unix.EOPNOTSUPP, "fremovexattr", badFD, faulting)
	t.strict(eperm, "ioctl", badFD, seccomp.FsSetFlags, 0)
	t.add(0, "ioctl", badFD, seccomp.FsSetFlags, 0)
	t.strict(eperm, "open", faulting, unix.O_TRUNC)
	t.strict(eperm, "openat", badFD, faulting, unix.O_TRUNC|unix.O_CLOEXEC)
	t.strict(0, "openat", badFD, faulting, unix.O_TRUNC|unix.O_WRONLY)
	t.strict(0, "openat", badFD, faulting, unix.O_TRUNC|unix.O_RDWR)
	t.add(0, "truncate", faulting, 0)
	t.add(0, "openat", badFD, faulting, unix.O_TRUNC)
}

// sharedRows are calls on resources that the kernel counts per host or per user.
func sharedRows(t *seccompTable) {
	for _, cmd := range []uintptr{unix.F_SETLEASE, 1040} {
		t.add(eperm, "fcntl", badFD, cmd, unix.F_RDLCK)
		t.add(eperm, "fcntl", badFD, cmd|garbage, unix.F_UNLCK)
	}
	t.add(0, "fcntl", badFD, unix.F_GETLEASE)
	t.add(0, "fcntl", badFD, unix.F_SETLK)
	// Huge pages, where without a filter the length, the name and the size are no good.
	t.add(unix.ENOMEM, "mmap", 0, 0, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB, badFD)
	t.add(unix.ENOMEM, "mmap", 0, 0, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB|30<<unix.MAP_HUGE_SHIFT, badFD)
	t.add(0, "mmap", 0, 0, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, badFD)
	t.add(unix.EINVAL, "memfd_create", faulting, unix.MFD_HUGETLB)
	t.add(0, "memfd_create", faulting, unix.MFD_CLOEXEC)
	t.add(unix.ENOMEM, "shmget", noSuch, 0, seccomp.ShmHugetlb|unix.IPC_CREAT)
	t.strict(eperm, "shmget", noSuch, 0, seccomp.ShmHugetlb|unix.IPC_CREAT)
}

func ipcRows(t *seccompTable) {
	t.strict(eperm, "shmget", noSuch, 0, 0)
	t.strict(eperm, "semget", noSuch, 0, 0)
	t.strict(eperm, "msgget", noSuch, 0)
	t.strict(eperm, "mq_open")
	t.add(0, "shmget", noSuch, 0, 0)
	// One too many for a set, where without a filter the set is not there.
	t.add(unix.EINVAL, "semget", noSuch, 251, 0)
	t.add(0, "semget", noSuch, 250, 0)
	t.add(eperm, "mq_open")
	t.add(eperm, "mq_unlink", faulting)
}

// abiRows are the same calls by other ABIs, and numbers that no call has.
func abiRows(t *seccompTable) {
	if runtime.GOARCH == "amd64" {
		t.rows = append(t.rows,
			seccompRow{name: "x32 getpid", want: eperm, raw: func() syscall.Errno { return attacker.RawCall(0x40000000 | 39) }},
			seccompRow{name: "x32 execve", want: eperm, raw: func() syscall.Errno { return attacker.RawCall(0x40000000 | 520) }},
			seccompRow{name: "i386 getpid", want: eperm, raw: func() syscall.Errno { return int80(20) }},
			seccompRow{name: "i386 mount", want: eperm, raw: func() syscall.Errno { return int80(21) }},
		)
	}
	t.rows = append(t.rows, seccompRow{name: "beyond the table", want: enosys, raw: func() syscall.Errno { return attacker.RawCall(seccomp.LastKnownCall + 1) }})
}

// pinned keeps the memory alive that rows refer to by address.
var pinned []any
