package attacker

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"signal": silent(func(a []string) error { return unix.Kill(Number(a[0]), syscall.Signal(Number(a[1]))) }),
		"signal-thread": silent(func(a []string) error {
			return unix.Tgkill(Number(a[0]), Number(a[0]), 0)
		}),
		"queue-signal": silent(attemptQueueSignal),
		"pidfd-signal": silent(withPidfd(func(fd int) error { return unix.PidfdSendSignal(fd, 0, nil, 0) })),
		"pidfd-getfd": silent(withPidfd(func(fd int) error {
			return Closing(unix.PidfdGetfd(fd, 0, 0))
		})),
		"pidfd-setns": silent(withPidfd(func(fd int) error { return unix.Setns(fd, unix.CLONE_NEWUTS) })),
		"pidfd-open":  silent(withPidfd(func(int) error { return nil })),
		"seize": silent(func(a []string) error {
			return RawErr(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(Number(a[0])), 0, 0)
		}),
		"peek": silent(func(a []string) error { return processMemory(unix.SYS_PROCESS_VM_READV, Number(a[0])) }),
		"poke": silent(func(a []string) error { return processMemory(unix.SYS_PROCESS_VM_WRITEV, Number(a[0])) }),
		"kcmp": silent(func(a []string) error {
			return RawErr(unix.SYS_KCMP, uintptr(Number(a[0])), uintptr(os.Getpid()), 1, 0, 0)
		}),
		"set-limit":  silent(attemptSetLimit),
		"nice":       silent(func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, Number(a[0]), 5) }),
		"ionice":     silent(func(a []string) error { return RawErr(unix.SYS_IOPRIO_SET, 1, uintptr(Number(a[0])), 2<<13|4) }),
		"processors": silent(attemptAffinity),
		"scheduler":  silent(attemptScheduler),
		"move-pages": silent(func(a []string) error {
			return RawErr(unix.SYS_MOVE_PAGES, uintptr(Number(a[0])), 0, 0, 0, 0, 0)
		}),
		"session-of": silent(func(a []string) error { _, err := unix.Getsid(Number(a[0])); return err }),
		"exists-pid": silent(func(a []string) error { _, err := unix.Getpgid(Number(a[0])); return err }),
		"all-procs":  attemptAllProcs,
	}
}

// ownVerbs are attempts on the server's own privileges, on inherited descriptors, and on objects
// that belong to a user and not to a path.
func ownVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"setuid": silent(func(a []string) error {
			return inFork(unix.SYS_SETRESUID, 12345, 12345, 12345)
		}),
		"setgid": silent(func(a []string) error {
			return inFork(unix.SYS_SETRESGID, 12345, 12345, 12345)
		}),
		"setgroups": silent(attemptSetgroups),
		"capset":    silent(attemptRegain),
		"ambient": silent(func(a []string) error {
			return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_RAW, 0, 0)
		}),
		"securebits": silent(func(a []string) error { return unix.Prctl(unix.PR_SET_SECUREBITS, 0, 0, 0, 0) }),
		"gains":      silent(attemptGains),
		"ids-of":     attemptIDsOf,

		// On what it inherited.
		"descriptor":     silent(attemptDescriptor),
		"read-beneath":   attemptReadBeneath,
		"any-descriptor": attemptAnyDescriptor,
		"variable":       func(a []string) (string, error) { v := os.Getenv(a[0]); return v, nothingIf(v == "") },

		// On what belongs to the user.
		"key-find":    silent(attemptKeyFind),
		"key-add":     silent(attemptKeyAdd),
		"shm-attach":  silent(attemptShmAttach),
		"semaphore":   silent(func(a []string) error { return RawErr(unix.SYS_SEMGET, uintptr(Number(a[0])), 0, 0) }),
		"messages":    silent(func(a []string) error { return RawErr(unix.SYS_MSGGET, uintptr(Number(a[0])), 0) }),
		"shm-any":     attemptShmAny,
		"terminal-of": silent(attemptTerminalOf),
	}
}

// attemptQueueSignal queues a signal for the process a[0], as sigqueue(3) does.
func attemptQueueSignal(a []string) error {
	info := [32]int32{0, 0, -1} // SI_QUEUE
	return RawErr(unix.SYS_RT_SIGQUEUEINFO, uintptr(Number(a[0])), 0, uintptr(unsafe.Pointer(&info)))
}

// attemptSetLimit sets a limit of the process a[0] to its present value.
func attemptSetLimit(a []string) error {
	var l unix.Rlimit
	must(unix.Prlimit(Number(a[0]), unix.RLIMIT_NOFILE, nil, &l))
	return unix.Prlimit(Number(a[0]), unix.RLIMIT_NOFILE, &l, nil)
}

func attemptScheduler(a []string) error {
	var priority int32
	return RawErr(unix.SYS_SCHED_SETSCHEDULER, uintptr(Number(a[0])), 0, uintptr(unsafe.Pointer(&priority)))
}

// attemptAllProcs counts the processes in /proc. It succeeds if it sees those of the host.
func attemptAllProcs([]string) (string, error) {
	names := get(attemptList([]string{"/proc"}))
	n := 0
	for _, f := range strings.Fields(names) {
		if f[0] >= '0' && f[0] <= '9' {
			n++
		}
	}
	return fmt.Sprint(n), nothingIf(n < 5)
}

func attemptSetgroups(a []string) error {
	g := uint32(0)
	return RawErr(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&g)))
}

// attemptGains succeeds if executing a set-id file could still change privileges.
func attemptGains(a []string) error {
	v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && v == 1 {
		return emptyHanded("no_new_privs")
	}
	return err
}

func attemptDescriptor(a []string) error {
	var st unix.Stat_t
	must(unix.Fstat(Number(a[0]), &st))
	if st.Mode&unix.S_IFMT == 0 {
		return unix.EBADF // an epoll or event descriptor of the runtime
	}
	return nil
}

// attemptReadBeneath reads a[1] relative to the directory that is open as a[0].
func attemptReadBeneath(a []string) (string, error) {
	fd := get(unix.Openat(Number(a[0]), a[1], unix.O_RDONLY|unix.O_CLOEXEC, 0))
	return readAndClose(fd)
}

func attemptAnyDescriptor([]string) (string, error) {
	for fd := 3; fd < 1024; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT == 0 {
			continue // an epoll or event descriptor of the runtime
		}
		return fmt.Sprint(fd), nil
	}
	return "", emptyHanded("none")
}

// RawErr makes a system call and returns its errno as an error.
func RawErr(nr uintptr, args ...uintptr) error {
	if errno := RawCall(nr, args...); errno != 0 {
		return errno
	}
	return nil
}

func withPidfd(f func(fd int) error) func([]string) error {
	return func(a []string) error {
		fd, err := unix.PidfdOpen(Number(a[0]), 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return f(fd)
	}
}

func processMemory(nr uintptr, pid int) error {
	b := make([]byte, 1)
	local := unix.Iovec{Base: &b[0], Len: 1}
	remote := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&memoryTarget)), Len: 1}
	errno := RawCall(nr, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	runtime.KeepAlive(b)
	if errno != 0 {
		return errno
	}
	return nil
}

// memoryTarget is at the same address in every process of this binary.
var memoryTarget byte

func attemptAffinity(a []string) error {
	var set unix.CPUSet
	must(unix.SchedGetaffinity(Number(a[0]), &set))
	return unix.SchedSetaffinity(Number(a[0]), &set)
}

// attemptRegain sets every capability. A process that has some keeps them.
func attemptRegain([]string) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	all := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
	return unix.Capset(&hdr, &all[0])
}

// attemptIDsOf runs a set-id copy of this binary. It succeeds if the copy had another user ID or
// a capability.
func attemptIDsOf(a []string) (string, error) {
	cmd := exec.Command(a[0])
	cmd.Args = []string{Name, `[["ids"], ["capabilities"]]`}
	out := get(cmd.Output())
	uid := os.Getuid()
	if string(out) == fmt.Sprintf(`["ok %d %d %d",%q]`, uid, uid, os.Getgid(), makeAttempt(Try("capabilities"))) {
		return "", emptyHanded("no change")
	}
	return string(out), nil
}

func attemptKeyFind(a []string) error {
	kind, _ := unix.BytePtrFromString("user")
	name, _ := unix.BytePtrFromString(a[0])
	// KEYCTL_SEARCH in the user's own keyring.
	ring := unix.KEY_SPEC_USER_KEYRING
	return RawErr(unix.SYS_KEYCTL, 10, uintptr(ring), uintptr(unsafe.Pointer(kind)), uintptr(unsafe.Pointer(name)), 0)
}

func attemptKeyAdd(a []string) error {
	id, err := unix.AddKey("user", "mcp-jail-attack", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return err
	}
	_, err = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	return err
}

func attemptShmAttach(a []string) error {
	id := get(unix.SysvShmGet(Number(a[0]), 1, 0))
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err == nil {
		unix.SysvShmDetach(b)
	}
	return err
}

// attemptShmAny attaches by number, without a key.
func attemptShmAny(a []string) (string, error) {
	b := get(unix.SysvShmAttach(Number(a[0]), 0, unix.SHM_RDONLY))
	defer unix.SysvShmDetach(b)
	return string(b[:1]), nil
}

func attemptTerminalOf(a []string) error {
	return onOpened(a[0], unix.O_RDWR|unix.O_NOCTTY, func(fd int) error {
		c := byte('x')
		return RawErr(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	})
}
