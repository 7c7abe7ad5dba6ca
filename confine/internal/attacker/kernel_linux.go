package attacker

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

func kernelVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"clone-into":  silent(attemptCloneInto),
		"clone3-into": silent(attemptClone3Into),
		"unshare-alone": silent(func(a []string) error { // in a process of one thread
			return inFork(unix.SYS_UNSHARE, uintptr(Number(a[0])))
		}),
		"bind": silent(func(a []string) error {
			return unix.Mount(a[0], a[1], "", unix.MS_BIND, "")
		}),
		"remount": silent(func(a []string) error {
			return unix.Mount("none", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, "")
		}),
		"mount-of":    silent(func(a []string) error { return unix.Mount("none", a[1], a[0], 0, "") }),
		"unmount-all": silent(func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) }),
		"clone-tree": silent(func(a []string) error {
			return Closing(unix.OpenTree(unix.AT_FDCWD, a[0], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC))
		}),
		"attributes": silent(func(a []string) error {
			return unix.MountSetattr(unix.AT_FDCWD, a[0], 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NODEV})
		}),
		"new-fs":     silent(func(a []string) error { return Closing(jail.NewFS(&stub.Task{}, a[0], 0)) }),
		"pick":       silent(func(a []string) error { return Closing(unix.Fspick(unix.AT_FDCWD, a[0], unix.FSPICK_CLOEXEC)) }),
		"chroot-out": attemptChrootOut,
		"pivot-out":  silent(attemptPivotOut),
		"userfault":  silent(attemptUserfault),
		"perf":       silent(attemptPerf),
		"bpf-map":    silent(attemptBPFMap),
		"uring":      silent(attemptUring),
		"fanotify":   silent(attemptFanotify),
		"listener":   silent(attemptListener),
		"dmesg":      silent(attemptDmesg),
		"set-mm": silent(func([]string) error {
			return RawErr(unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_BRK, 1, 0, 0)
		}),
		// The command of ioctl(2) on a path that is opened for reading.
		"command": silent(func(a []string) error {
			fd := get(unix.Open(a[0], unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0))
			defer unix.Close(fd)
			return RawErr(unix.SYS_IOCTL, uintptr(fd), uintptr(Number(a[1])), 0)
		}),
		"personality-of": silent(func(a []string) error { return RawErr(unix.SYS_PERSONALITY, uintptr(Number(a[0]))) }),
		"kcore":          attemptKcore,
		"kallsyms":       attemptKallsyms,
		"crashes":        silent(attemptCrashes),
	}
}

// attemptCloneInto starts a program in a new namespace of the kind a[0].
func attemptCloneInto(a []string) error {
	cmd := exec.Command("/usr/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: uintptr(Number(a[0]))}
	return cmd.Run()
}

// attemptClone3Into makes a process in a new namespace of the kind a[0] by clone3.
func attemptClone3Into(a []string) error {
	args := struct{ flags, pidfd, child, parent, signal, stack, size, tls, tid, tids, cgroup uint64 }{
		flags: uint64(Number(a[0])), signal: uint64(unix.SIGCHLD),
	}
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
	unix.Wait4(int(pid), nil, 0, nil)
	return nil
}

// attemptChrootOut leaves the root as chroot(2) describes: it keeps a directory open, changes the root
// to one below it, and goes back to the open one.
func attemptChrootOut(a []string) (string, error) {
	dir := get(unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0))
	must(unix.Chroot(a[0]))
	must(unix.Fchdir(dir))
	b, err := os.ReadFile(a[1][1:])
	return string(b), err
}

func attemptPivotOut(a []string) error {
	must(unix.Mount(a[0], a[0], "", unix.MS_BIND, ""))
	must(unix.Chdir(a[0]))
	return unix.PivotRoot(".", ".")
}

func attemptUserfault([]string) error {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0) // UFFD_USER_MODE_ONLY
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func attemptPerf(a []string) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	return Closing(unix.PerfEventOpen(&attr, Number(a[0]), -1, -1, unix.PERF_FLAG_FD_CLOEXEC))
}

func attemptBPFMap([]string) error {
	attr := [32]uint32{1, 4, 4, 1} // BPF_MAP_TYPE_HASH, key, value, entries
	fd, _, errno := unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func attemptUring([]string) error {
	params := make([]byte, 120)
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func attemptFanotify(a []string) error {
	fd := get(unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_REPORT_FID, unix.O_RDONLY))
	defer unix.Close(fd)
	return unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN, unix.AT_FDCWD, a[0])
}

func attemptDmesg([]string) error {
	_, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 1<<16))
	return err
}

func attemptKcore([]string) (string, error) {
	fd := get(unix.Open("/proc/kcore", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	return readAndClose(fd)
}

// attemptKallsyms reads the addresses of the kernel's symbols. Zeroes are no success.
func attemptKallsyms([]string) (string, error) {
	fd := get(unix.Open("/proc/kallsyms", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	s, err := readAndClose(fd)
	if err == nil && len(s) > 16 && s[:16] == "0000000000000000" {
		return "", emptyHanded("zeroes")
	}
	return s, err
}

func attemptCrashes(a []string) error {
	var l unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_CORE, &l))
	if l.Max <= 1 {
		return emptyHanded("RLIMIT_CORE")
	}
	return nil
}

func terminalVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"line-discipline": silent(withTerminal(func(master, slave int) error {
			return unix.IoctlSetPointerInt(slave, unix.TIOCSETD, 0)
		})),
		"type": silent(withTerminal(func(master, slave int) error {
			c := byte('x')
			return RawErr(unix.SYS_IOCTL, uintptr(slave), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		})),
		"paste": silent(withTerminal(func(master, slave int) error {
			// ENOTTY on a pseudo-terminal is what the console's driver is not asked for.
			c := [2]byte{3}
			err := RawErr(unix.SYS_IOCTL, uintptr(slave), 0x541c, uintptr(unsafe.Pointer(&c)))
			if err == unix.ENOTTY || err == unix.EINVAL {
				return nil // it got as far as the driver
			}
			return err
		})),
		"console": silent(withTerminal(func(master, slave int) error {
			return RawErr(unix.SYS_IOCTL, uintptr(slave), 0x541d, 0) // TIOCCONS
		})),
	}
}

func withTerminal(f func(master, slave int) error) func([]string) error {
	return func([]string) error {
		master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(master)
		if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			return errno
		}
		defer unix.Close(int(slave))
		RawCall(unix.SYS_SETSID)
		signal.Ignore(syscall.SIGHUP) // of a terminal that goes away
		if err := unix.IoctlSetInt(int(slave), unix.TIOCSCTTY, 0); err != nil {
			// Not the leader of a session, or one with a terminal: then it is root's
			// right to type that is tried.
			_ = err
		}
		return f(master, int(slave))
	}
}

func attemptListener([]string) error {
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	prog := get(bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: seccomp.VerdictAllow}}))
	return Closing(seccomp.Install(&stub.Task{}, seccomp.Records(prog), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER))
}
