package confine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestSeccompNumbers compares both tables with those of golang.org/x/sys, and
// says when that knows calls which the rules were not written for.
func TestSeccompNumbers(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		skip(t, "go", "the sources of golang.org/x/sys cannot be found: %v", err)
	}
	row := regexp.MustCompile(`^\s+SYS_(\w+)\s+= (\d+)$`)
	for _, arch := range bothArchs {
		f, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_"+arch.String()+".go"))
		if err != nil {
			skip(t, "go", "the sources of golang.org/x/sys cannot be read: %v", err)
		}
		defer f.Close()
		want := make(map[string]uint32)
		for s := bufio.NewScanner(f); s.Scan(); {
			if m := row.FindStringSubmatch(s.Text()); m != nil {
				n, _ := strconv.Atoi(m[2])
				want[strings.ToLower(m[1])] = uint32(n)
				if n > lastKnownCall {
					t.Errorf("%s: %s (%d) is newer than the rules: judge it and raise lastKnownCall", arch, m[1], n)
				}
			}
		}
		if len(want) < 300 {
			t.Fatalf("%s: only %d numbers were read", arch, len(want))
		}
		for _, c := range seccompCalls {
			got, has := callNumber(arch, c.name)
			if n, ok := want[c.name]; ok != has || n != got {
				t.Errorf("%s: %s is %d (%v), want %d (%v)", arch, c.name, got, has, n, ok)
			}
		}
	}
}

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
	badFD   = ^uintptr(0)
	noSuch  = 54321   // a user id, pid or key that nobody has
	garbage = 1 << 40 // in a half that the kernel does not look at
)

func seccompRows() []seccompRow {
	self := uintptr(os.Getpid())
	one := uintptr(1) // an address that faults
	var rows []seccompRow
	add := func(want syscall.Errno, call string, args ...uintptr) {
		rows = append(rows, seccompRow{name: fmt.Sprintf("%d %s", len(rows), call), call: call, args: args, want: want})
	}
	strict := func(want syscall.Errno, call string, args ...uintptr) {
		add(want, call, args...)
		rows[len(rows)-1].mode = "strict"
	}
	const eperm, enosys, none = unix.EPERM, unix.ENOSYS, unix.EAFNOSUPPORT

	add(enosys, "clone3", 0, 0)
	add(enosys, "io_uring_setup", 0, 0)
	add(enosys, "io_uring_enter", badFD)
	add(enosys, "io_uring_register", badFD)
	add(enosys, "openat2", badFD, 0, 0, 0)
	add(enosys, "statmount")
	add(enosys, "listmount")
	add(enosys, "listns")

	// CLONE_THREAD without CLONE_SIGHAND is EINVAL: nothing is ever started.
	for _, ns := range []uintptr{unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET} {
		add(eperm, "clone", ns|unix.CLONE_THREAD)
		add(eperm, "clone", ns|unix.CLONE_THREAD|garbage)
		add(eperm, "unshare", ns)
	}
	add(0, "clone", unix.CLONE_THREAD)
	add(0, "clone", unix.CLONE_THREAD|unix.CLONE_NEWNS<<32)
	add(eperm, "unshare", unix.CLONE_NEWTIME)
	add(eperm, "unshare", 1<<20)
	add(eperm, "unshare", garbage)
	add(0, "unshare", unix.CLONE_FS|unix.CLONE_FILES)
	add(eperm, "setns", badFD, 0)

	add(eperm, "mount")
	add(eperm, "umount2")
	add(eperm, "move_mount", badFD, 0, badFD, 0, 0)
	add(eperm, "open_tree", badFD)
	add(eperm, "open_tree_attr", badFD)
	add(eperm, "fsopen")
	add(eperm, "fsconfig", badFD)
	add(eperm, "fsmount", badFD)
	add(eperm, "fspick", badFD)
	add(eperm, "mount_setattr", badFD, 0, 1<<31)
	add(eperm, "pivot_root")
	add(eperm, "chroot")

	add(eperm, "ptrace", unix.PTRACE_ATTACH, 0)
	add(eperm, "process_vm_readv", self)
	add(eperm, "process_vm_writev", self)
	add(eperm, "process_madvise", badFD)
	add(eperm, "pidfd_getfd", badFD)
	add(eperm, "kcmp", self, self, 0, 0, 0)

	add(eperm, "bpf", noSuch)
	add(eperm, "perf_event_open")
	add(eperm, "userfaultfd", badFD)
	add(eperm, "kexec_load", 0, 0, 0, 0xffff)
	add(eperm, "kexec_file_load", badFD, badFD, 0, 0, badFD)
	add(eperm, "init_module")
	add(eperm, "finit_module", badFD, 0, 0xffff)
	add(eperm, "delete_module")
	add(eperm, "swapon")
	add(eperm, "swapoff")
	add(eperm, "fanotify_init", badFD)
	add(eperm, "quotactl")
	add(eperm, "quotactl_fd", badFD)
	add(eperm, "syslog", 99)
	add(eperm, "reboot")
	add(eperm, "sethostname", 0, badFD)
	add(eperm, "setdomainname", 0, badFD)
	add(eperm, "settimeofday", one)
	add(eperm, "clock_settime", 1, one)
	add(eperm, "adjtimex")
	add(eperm, "clock_adjtime")
	add(eperm, "acct", one)
	add(eperm, "iopl", 99)
	add(eperm, "ioperm")
	add(eperm, "modify_ldt")
	add(eperm, "vhangup") // the child has no terminal
	add(eperm, "lookup_dcookie")
	add(eperm, "nfsservctl")
	add(eperm, "uselib")
	add(eperm, "ustat", 0, one)
	add(eperm, "add_key")
	add(eperm, "request_key")
	add(eperm, "keyctl", noSuch)
	add(eperm, "name_to_handle_at", badFD)
	add(eperm, "open_by_handle_at", badFD)

	add(eperm, "personality", 0x0040000) // ADDR_NO_RANDOMIZE
	add(0, "personality", 0xffffffff)
	add(0, "personality", 0xffffffff|garbage)
	add(eperm, "prlimit64", self, unix.RLIMIT_NOFILE)
	add(0, "prlimit64", 0, unix.RLIMIT_NOFILE)
	add(0, "prlimit64", garbage, unix.RLIMIT_NOFILE)
	add(eperm, "setpriority", unix.PRIO_PROCESS, self, 0)
	add(eperm, "setpriority", unix.PRIO_USER, noSuch, 0)
	add(0, "setpriority", unix.PRIO_PROCESS, 0, 0)
	add(eperm, "ioprio_set", 1, self, 0)
	add(eperm, "ioprio_set", 3, noSuch, 0)
	add(0, "ioprio_set", 1, 0, 0)
	add(0, "sched_setaffinity", self)
	strict(eperm, "sched_setaffinity", self)
	strict(0, "sched_setaffinity", 0)
	strict(eperm, "sched_setscheduler", self)
	strict(eperm, "sched_setparam", self)
	strict(eperm, "sched_setattr", self)

	add(eperm, "seccomp", 1, 8)
	add(0, "seccomp", 1, 0)
	add(eperm, "prctl", unix.PR_SET_MM, 99, 0, 0, 1)
	add(0, "prctl", unix.PR_GET_DUMPABLE)
	for _, cmd := range []uintptr{unix.TIOCSTI, 0x541c, unix.TIOCSETD} {
		add(eperm, "ioctl", badFD, cmd)
		add(eperm, "ioctl", badFD, cmd|garbage)
	}
	add(0, "ioctl", badFD, unix.TCGETS)
	for _, nr := range []uintptr{1, 14, 15, 23, 24, 63} { // subvolumes of btrfs
		add(eperm, "ioctl", badFD, 0x50009400|nr)
	}
	add(0, "ioctl", badFD, unix.FICLONE)

	add(eperm, "chmod", 0, 0o4755)
	add(eperm, "chmod", 0, 0o2755)
	add(0, "chmod", 0, 0o1777)
	add(eperm, "fchmod", badFD, 0o4755)
	add(0, "fchmod", badFD, 0o755)
	add(eperm, "fchmodat", badFD, 0, 0o2755)
	add(eperm, "fchmodat2", badFD, 0, 0o4755, 0)
	add(eperm, "open", 0, unix.O_CREAT, 0o4755)
	add(eperm, "open", 0, unix.O_TMPFILE|unix.O_RDWR, 0o2755)
	add(0, "open", 0, 0, 0o4755)
	add(eperm, "openat", badFD, 0, unix.O_CREAT, 0o4755)
	add(eperm, "openat", badFD, 0, unix.O_TMPFILE|unix.O_RDWR|garbage, 0o4755|garbage)
	add(0, "openat", badFD, 0, unix.O_CREAT, 0o644)
	add(0, "openat", badFD, 0, 0, 0o4755)
	add(eperm, "creat", 0, 0o4755)
	for _, kind := range []uintptr{unix.S_IFCHR, unix.S_IFBLK, unix.S_IFREG | unix.S_ISUID, unix.S_IFREG | unix.S_ISGID} {
		add(eperm, "mknod", 0, kind|0o644, 1<<8|3)
		add(eperm, "mknodat", badFD, 0, kind|0o644|garbage, 1<<8|3)
	}
	for _, kind := range []uintptr{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK} {
		add(0, "mknod", 0, kind|0o644, 0)
		add(0, "mknodat", badFD, 0, kind|0o644, 0)
	}
	add(eperm, "renameat2", badFD, 0, badFD, 0, 4)
	add(0, "renameat2", badFD, 0, badFD, 0, 1)
	add(0, "mkdir", 0, 0o755)
	add(0, "unlink")
	add(0, "rename")

	for _, family := range []uintptr{3, 4, 5, 15, 17, 21, 29, 30, 31, 38, 40, 44, 45} {
		add(none, "socket", family, unix.SOCK_RAW, 0)
		add(none, "socket", family, unix.SOCK_DGRAM, 0)
		add(none, "socket", family, unix.SOCK_SEQPACKET, 0)
		add(none, "socket", family, unix.SOCK_STREAM, 0)
	}
	add(none, "socket", unix.AF_NETLINK, unix.SOCK_RAW, 0)
	add(none, "socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)
	for _, family := range []uintptr{unix.AF_INET, unix.AF_INET6} {
		add(none, "socket", family, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		add(none, "socket", family, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
		add(none, "socket", family, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)
		add(none, "socket", family, unix.SOCK_STREAM, unix.IPPROTO_SCTP)
		add(none, "socket", family, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP)
		add(none, "socket", family, unix.SOCK_STREAM, 256) // SMC
		add(none, "socket", family, unix.SOCK_PACKET, 0x300)
		add(unix.EPROTONOSUPPORT, "socket", family, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		add(0, "socket", family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
		add(0, "socket", family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
		strict(none, "socket", family, unix.SOCK_STREAM, 0)
		strict(none, "socket", family, unix.SOCK_DGRAM, 0)
	}
	add(0, "socket", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	add(0, "socket", unix.AF_UNIX|garbage, unix.SOCK_DGRAM, 0)
	strict(none, "socket", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	var pair [2]int32
	to := uintptr(unsafe.Pointer(&pair))
	pinned = append(pinned, &pair)
	add(none, "socketpair", unix.AF_INET, unix.SOCK_STREAM, 0, to)
	add(0, "socketpair", unix.AF_UNIX, unix.SOCK_DGRAM, 0, to)
	strict(0, "socketpair", unix.AF_UNIX, unix.SOCK_STREAM, 0, to)
	strict(none, "socketpair", unix.AF_UNIX, unix.SOCK_DGRAM, 0, to)
	strict(none, "socketpair", unix.AF_UNIX, unix.SOCK_RAW, 0, to)
	add(unix.EOPNOTSUPP, "sendto", badFD, 0, 0, unix.MSG_FASTOPEN)
	add(unix.EOPNOTSUPP, "sendmsg", badFD, 0, unix.MSG_FASTOPEN)
	add(unix.EOPNOTSUPP, "sendmmsg", badFD, 0, 0, unix.MSG_FASTOPEN)
	add(0, "sendto", badFD, 0, 0, unix.MSG_NOSIGNAL)

	add(eperm, "open", one, 3)
	add(eperm, "openat", badFD, one, 3|unix.O_TRUNC)
	strict(eperm, "openat", badFD, one, 3|unix.O_TRUNC)
	strict(eperm, "truncate", one, 0)
	for _, call := range []string{"setxattr", "lsetxattr", "removexattr", "lremovexattr"} {
		strict(unix.EOPNOTSUPP, call, one, one, one, 0, 0)
		add(0, call, one, one, one, 0, 0)
	}
	strict(unix.EOPNOTSUPP, "fsetxattr", badFD, one, one, 0, 0)
	strict(unix.EOPNOTSUPP, "fremovexattr", badFD, one)
	strict(eperm, "ioctl", badFD, fsSetFlags, 0)
	add(0, "ioctl", badFD, fsSetFlags, 0)
	strict(eperm, "open", one, unix.O_TRUNC)
	strict(eperm, "openat", badFD, one, unix.O_TRUNC|unix.O_CLOEXEC)
	strict(0, "openat", badFD, one, unix.O_TRUNC|unix.O_WRONLY)
	strict(0, "openat", badFD, one, unix.O_TRUNC|unix.O_RDWR)
	add(0, "truncate", one, 0)
	add(0, "openat", badFD, one, unix.O_TRUNC)
	strict(eperm, "shmget", noSuch, 0, 0)
	strict(eperm, "semget", noSuch, 0, 0)
	strict(eperm, "msgget", noSuch, 0)
	strict(eperm, "mq_open")
	add(0, "shmget", noSuch, 0, 0)

	if runtime.GOARCH == "amd64" {
		rows = append(rows,
			seccompRow{name: "x32 getpid", want: eperm, raw: func() syscall.Errno { return rawCall(0x40000000 | 39) }},
			seccompRow{name: "x32 execve", want: eperm, raw: func() syscall.Errno { return rawCall(0x40000000 | 520) }},
			seccompRow{name: "i386 getpid", want: eperm, raw: func() syscall.Errno { return int80(20) }},
			seccompRow{name: "i386 mount", want: eperm, raw: func() syscall.Errno { return int80(21) }},
		)
	}
	rows = append(rows, seccompRow{name: "beyond the table", want: enosys, raw: func() syscall.Errno { return rawCall(lastKnownCall + 1) }})
	return rows
}

// pinned keeps what addresses in rows point at.
var pinned []any

func rawCall(nr uintptr, args ...uintptr) syscall.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

// int80 makes a system call by the gate of 32-bit programs. Go passes the first
// argument and the result in AX, where the gate wants them.
func int80(nr uintptr) syscall.Errno {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	copy(code, []byte{
		0x31, 0xdb, // xor ebx, ebx
		0xcd, 0x80, // int 0x80
		0xc3, // ret
	})
	entry := unsafe.Pointer(unsafe.SliceData(code))
	closure := unsafe.Pointer(&entry)
	gate := *(*func(uintptr) uintptr)(unsafe.Pointer(&closure))
	r := int32(gate(nr))
	runtime.KeepAlive(&entry)
	if r < 0 && r > -4096 {
		return syscall.Errno(-r)
	}
	return 0
}

// seccompChild makes the call of one row and returns its errno as a number.
func seccompChild(args []string) string {
	index, _ := strconv.Atoi(args[0])
	row := seccompRows()[index]
	if args[1] == "filtered" {
		if err := filterSelf(row.mode, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
			return err.Error()
		}
	}
	if row.raw != nil {
		return strconv.Itoa(int(row.raw()))
	}
	arch, _ := archOf(runtime.GOARCH)
	nr, _ := callNumber(arch, row.call)
	return strconv.Itoa(int(rawCall(uintptr(nr), row.args...)))
}

func filterSelf(mode string, flags uintptr) error {
	if mode == "" {
		mode = "namespaces"
	}
	arch, _ := archOf(runtime.GOARCH)
	prog, err := compileSeccomp(arch, seccompModes[mode])
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, err = applySeccomp(filterRecords(prog), flags)
	return err
}

func TestSeccompInKernel(t *testing.T) {
	needs(t, "seccomp", "seccomp_tsync")
	arch, _ := archOf(runtime.GOARCH)
	for i, row := range seccompRows() {
		if _, ok := callNumber(arch, row.call); !ok && row.raw == nil {
			continue // this machine has only the *at form
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			shows := false
			for who, as := range testUsers() {
				control, err := tryChild(as, "seccomp", strconv.Itoa(i), "control")
				if err != nil && strings.HasPrefix(row.name, "i386") {
					control = "the kernel runs no i386 code"
				} else if err != nil {
					t.Fatal(err)
				}
				filtered, err := tryChild(as, "seccomp", strconv.Itoa(i), "filtered")
				if err != nil && strings.HasPrefix(control, "the kernel") {
					t.Log(control)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := strconv.Itoa(int(row.want))
				if row.want == 0 {
					want, shows = control, true
				}
				if filtered != want {
					t.Errorf("%s as %s: %s under the filter, want %s (%s without)", row.call, who, errnoText(filtered), errnoText(want), errnoText(control))
				}
				shows = shows || control != want
			}
			if shows {
				return
			}
			switch row.want {
			case unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT:
				t.Logf("this kernel has nothing behind %s", row.name)
			default:
				if os.Geteuid() == 0 {
					t.Error("the call gives the same without the filter: this row shows nothing")
				}
			}
		})
	}
}

func errnoText(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil {
		return s
	}
	if n == 0 {
		return "success"
	}
	return unix.ErrnoName(syscall.Errno(n))
}

// tsyncChild reports what a thread meets that was there before the filter.
func tsyncChild(args []string) string {
	attempt, outcome := make(chan bool), make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread()
		<-attempt
		outcome <- rawCall(unix.SYS_SETNS, badFD, 0)
	}()
	flags := uintptr(0)
	if args[0] == "all" {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	runtime.Gosched()
	if err := filterSelf("", flags); err != nil {
		return err.Error()
	}
	attempt <- true
	return errnoText(strconv.Itoa(int(<-outcome)))
}

func TestSeccompReachesEveryThread(t *testing.T) {
	needs(t, "seccomp", "seccomp_tsync")
	if got := inChild(t, nil, "tsync", "one"); got != "EBADF" {
		t.Errorf("without TSYNC another thread gets %s, want EBADF: this test shows nothing", got)
	}
	if got := inChild(t, nil, "tsync", "all"); got != "EPERM" {
		t.Errorf("with TSYNC another thread gets %s, want EPERM", got)
	}
}

func TestApplySeccompRefusesNonsense(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 7), make([]byte, 12), make([]byte, 8*(maxProgram+1))} {
		if _, err := applySeccomp(b, 0); err != unix.EINVAL {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}
