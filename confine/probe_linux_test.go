package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// runProbe makes the attempts of its argument and reports the outcomes as one
// JSON list, all of them at the end: who dies half-way has reported nothing.
func runProbe(args []string) {
	runtime.LockOSThread()
	var attempts []attempt
	if err := json.Unmarshal([]byte(args[0]), &attempts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	out := make([]outcome, len(attempts))
	for i, a := range attempts {
		out[i] = makeAttempt(a)
	}
	b, _ := json.Marshal(out)
	os.Stdout.Write(b)
	unix.Exit(0) // the race detector sleeps a second in os.Exit
}

func makeAttempt(a attempt) outcome {
	verb, ok := verbs[a[0]]
	if !ok {
		verb, ok = callVerbs[a[0]]
	}
	if !ok {
		verb, ok = attackVerbs()[a[0]]
		time.AfterFunc(20*time.Second, func() { unix.Exit(9) }) // none of them takes longer
	}
	if !ok {
		return "no verb " + a[0]
	}
	answer, err := verb(a[1:])
	if err != nil {
		var why emptyHanded
		if errors.As(err, &why) {
			return string(why)
		}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			return unix.ErrnoName(errno)
		}
		return "error: " + err.Error()
	}
	return strings.TrimSuffix(succeeded+" "+answer, " ")
}

// silent turns an operation without an answer into a verb.
func silent(f func(a []string) error) func([]string) (string, error) {
	return func(a []string) (string, error) { return "", f(a) }
}

func closing(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

var verbs map[string]func(args []string) (string, error)

func init() {
	open := func(flags int) func([]string) (string, error) {
		return silent(func(a []string) error { return closing(unix.Open(a[0], flags|unix.O_CLOEXEC, 0o644)) })
	}
	verbs = map[string]func(args []string) (string, error){
		// Files.
		"read":          func(a []string) (string, error) { b, err := os.ReadFile(a[0]); return string(b), err },
		"list":          probeList,
		"stat":          silent(func(a []string) error { var st unix.Stat_t; return unix.Lstat(a[0], &st) }),
		"create":        open(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL),
		"mkfile":        silent(func(a []string) error { return unix.Mknod(a[0], unix.S_IFREG|0o644, 0) }),
		"mkdir":         silent(func(a []string) error { return unix.Mkdir(a[0], 0o755) }),
		"symlink":       silent(func(a []string) error { return unix.Symlink("/", a[0]) }),
		"mkfifo":        silent(func(a []string) error { return unix.Mkfifo(a[0], 0o644) }),
		"mksock":        silent(probeBind),
		"tmpfile":       silent(probeTmpfile),
		"open":          open(unix.O_RDONLY),
		"write":         open(unix.O_WRONLY),
		"append":        open(unix.O_WRONLY | unix.O_APPEND),
		"rewrite":       open(unix.O_WRONLY | unix.O_TRUNC),
		"empty":         open(3 | unix.O_TRUNC), // neither to read nor to write
		"open-truncate": open(unix.O_RDONLY | unix.O_TRUNC),
		"truncate": silent(func(a []string) error {
			return unix.Truncate(a[0], 4) // fewer, and an execution of it has the kernel look for a module
		}),
		"unlink":       silent(func(a []string) error { return unix.Unlink(a[0]) }),
		"whole-cgroup": func(a []string) (string, error) { return strconv.FormatBool(wholeCgroup(a[0])), nil },
		"rmdir":        silent(func(a []string) error { return unix.Rmdir(a[0]) }),
		"rename":       silent(func(a []string) error { return unix.Rename(a[0], a[1]) }),
		"rename-undo": silent(func(a []string) error {
			if err := unix.Rename(a[0], a[1]); err != nil {
				return err
			}
			return unix.Rename(a[1], a[0])
		}),
		"exchange": silent(func(a []string) error {
			return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
		}),
		"link":     silent(func(a []string) error { return unix.Link(a[0], a[1]) }),
		"chmod":    silent(func(a []string) error { return unix.Chmod(a[0], 0o755) }),
		"chmod-id": silent(func(a []string) error { return unix.Chmod(a[0], 0o4755) }),
		"touch":    silent(func(a []string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], nil, 0) }),
		"utimes": silent(func(a []string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{}, {}}, 0)
		}),
		"exec": probeExec,
		"exec-probe": func(a []string) (string, error) {
			cmd := exec.Command(a[0])
			cmd.Args = append([]string{probeName}, a[1:]...)
			out, err := cmd.Output()
			return string(out), err
		},
		"execs":   silent(probeExecutable),
		"mapexec": silent(probeMapExec),
		"memexec": probeMemExec,
		"handle": silent(func(a []string) error {
			_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
			return err
		}),

		// The process itself.
		"status": probeStatus,
		"env":    func([]string) (string, error) { return strings.Join(os.Environ(), " "), nil },
		"cwd":    func([]string) (string, error) { return os.Getwd() },
		"umask":  func([]string) (string, error) { return fmt.Sprintf("%03o", unix.Umask(0)), nil },
		"fds":    probeDescriptors,
		"ids":    func([]string) (string, error) { return fmt.Sprint(unix.Getuid(), unix.Geteuid(), unix.Getegid()), nil },
		"limit":  probeLimit,
		"verify": silent(probeVerify),

		// Without namespaces.
		"chdir-list": func(a []string) (string, error) {
			if err := os.Chdir(a[0]); err != nil {
				return "", err
			}
			return "", closing(unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
		},
		"chdir-read": silent(func(a []string) error {
			if err := os.Chdir(a[0]); err != nil {
				return err
			}
			return closing(unix.Open("file", unix.O_RDONLY|unix.O_CLOEXEC, 0))
		}),
		"path-read": silent(func(a []string) error { // beginning at a descriptor that opens nothing
			fd, err := unix.Open(filepath.Dir(a[0]), unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			return closing(unix.Openat(fd, filepath.Base(a[0]), unix.O_RDONLY|unix.O_CLOEXEC, 0))
		}),
		"path-reopen": silent(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			return closing(unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0))
		}),
		"chmod-fd": silent(func(a []string) error { return onFD(a[0], func(fd int) error { return unix.Fchmod(fd, 0o700) }) }),
		"utimes-fd": silent(func(a []string) error {
			return onFD(a[0], func(fd int) error { return unix.Futimes(fd, []unix.Timeval{{}, {}}) })
		}),
		"utime": silent(func(a []string) error { return unix.Utime(a[0], &unix.Utimbuf{}) }),
		"lutimes": silent(func(a []string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{}, {}}, unix.AT_SYMLINK_NOFOLLOW)
		}),
		"chown":  silent(func(a []string) error { return unix.Chown(a[0], os.Getuid(), os.Getgid()) }),
		"lchown": silent(func(a []string) error { return unix.Lchown(a[0], os.Getuid(), os.Getgid()) }),
		"xattr":  silent(func(a []string) error { return unix.Setxattr(a[0], "user.test", []byte("x"), 0) }),
		"set-flags": silent(func(a []string) error {
			return onFD(a[0], func(fd int) error { return unix.IoctlSetPointerInt(fd, fsSetFlags, 0) })
		}),
		"priority": silent(func(a []string) error {
			now, err := unix.Getpriority(unix.PRIO_PROCESS, number(a[0])) // 20 less the nice value
			if err != nil {
				return err
			}
			return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 20-now)
		}),
		"affinity": silent(func(a []string) error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(number(a[0]), &set); err != nil {
				return err
			}
			return unix.SchedSetaffinity(number(a[0]), &set)
		}),
		"rlimit": silent(func(a []string) error { return unix.Prlimit(number(a[0]), unix.RLIMIT_CORE, nil, &unix.Rlimit{}) }),
		"socketpair": silent(func([]string) error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		}),
		"capabilities": probeCapabilities,
		"tmp": func([]string) (string, error) { // fills TMPDIR, and shuts it
			dir := os.TempDir()
			return dir, errors.Join(os.MkdirAll(dir+"/a/b/c", 0o700), os.WriteFile(dir+"/a/b/c/file", nil, 0o600),
				os.Chmod(dir+"/a/b/c", 0), os.Chmod(dir+"/a/b", 0o500), os.Chmod(dir+"/a", 0o100))
		},
		"statement": func([]string) (string, error) {
			var s policy.Statement
			err := json.Unmarshal([]byte(os.Getenv(policy.StatementVar)), &s)
			return s.Temporary, err
		},

		// Others.
		"signal-init": silent(signalInit),
		"kill":        silent(func(a []string) error { return unix.Kill(number(a[0]), 0) }),
		"ptrace":      silent(probePtrace),
		"readmem":     silent(probeReadMemory),
		"dial": silent(func(a []string) error {
			c, err := net.Dial(a[0], a[1])
			if err == nil {
				c.Close()
			}
			return err
		}),
		"loopback": silent(probeLoopback),
		"shmget": silent(func(a []string) error {
			_, err := unix.SysvShmGet(number(a[0]), 1, 0)
			return err
		}),
		"mqopen": silent(func(a []string) error { return closing(mqOpen(a[0], unix.O_RDONLY)) }),

		// The kernel.
		"userns": silent(func([]string) error {
			cmd := exec.Command("/usr/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return cmd.Run()
		}),
		"start": silent(func([]string) error {
			proc, err := Launcher{}.Start(context.Background(), &policy.Profile{
				Program: "/bin/true", Argv: []string{"true"}, Dir: "/",
				Entries: []policy.Entry{{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute}},
				Links:   []policy.Link{{Path: "/bin", Target: "usr/bin"}, {Path: "/lib", Target: "usr/lib"}, {Path: "/lib64", Target: "usr/lib64"}},
			}, Stdio{})
			if err == nil {
				proc.Wait()
			}
			return err
		}),
		"unshare": silent(func(a []string) error { return unix.Unshare(number(a[0])) }),
		"setns": silent(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Setns(fd, 0)
		}),
		"mount":  silent(func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") }),
		"umount": silent(func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) }),
		"pivot":  silent(func(a []string) error { return unix.PivotRoot(a[0], a[0]) }),
		"chroot": silent(func(a []string) error { return unix.Chroot(a[0]) }),
		"fsopen": silent(func(a []string) error { return closing(unix.Fsopen(a[0], unix.FSOPEN_CLOEXEC)) }),
		"socket": silent(func(a []string) error {
			return closing(unix.Socket(number(a[0]), number(a[1])|unix.SOCK_CLOEXEC, number(a[2])))
		}),
		"keyring": silent(func([]string) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
			return err
		}),
		"personality": silent(func([]string) error {
			_, _, errno := unix.Syscall(unix.SYS_PERSONALITY, 0x0040000, 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		}),
		"sticky-input": silent(probeTerminal),

		// Life.
		"exit":   silent(func(a []string) error { unix.Exit(number(a[0])); return nil }),
		"die":    silent(func(a []string) error { return dieOf(syscall.Signal(number(a[0]))) }),
		"wait":   silent(func(a []string) error { fmt.Println("ready"); time.Sleep(time.Hour); return nil }),
		"caught": probeCatch,
		"daemon": silent(probeDaemon),
		"bomb":   silent(probeBomb),

		// Limits.
		"openfiles": probeOpenFiles,
		"fill":      silent(probeFill),
		"fork":      probeFork,
		"fork-wait": func(a []string) (string, error) {
			spareThreads(runsAtOnce, func() {}) // of a runtime that dies without
			said, err := probeFork(a)
			time.Sleep(1500 * time.Millisecond)
			return said, err
		},
		"fork-busy":       probeForkBusy,
		"allocate":        silent(func(a []string) error { return probeAllocate(a, unix.MAP_PRIVATE) }),
		"allocate-shared": silent(func(a []string) error { return probeAllocate(a, unix.MAP_SHARED) }),
		"allocate-hidden": silent(func(a []string) error {
			unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
			return probeAllocate(a, unix.MAP_PRIVATE)
		}),
		"fill-tmp": silent(func(a []string) error {
			if err := probeFill([]string{"/tmp/large", a[0]}); err != nil {
				return err
			}
			time.Sleep(20 * time.Second)
			return nil
		}),
		"allocate-two": silent(func(a []string) error {
			cmd := exec.Command(testBinaryOfProbe())
			cmd.Args = []string{probeName, fmt.Sprintf(`[["allocate", %q]]`, a[0])}
			if err := cmd.Start(); err != nil {
				return err
			}
			if err := probeAllocate(a, unix.MAP_PRIVATE); err != nil {
				return err
			}
			return cmd.Wait()
		}),
		"allocate-memfd": silent(probeAllocateMemfd),
		"allocate-sysv":  silent(probeAllocateSysV),
		"allocate-pages": silent(probeAllocatePageTables),
		"fill-both":      silent(probeFillBoth),
		"full":           silent(func(a []string) error { return fillOwn(a[0], number(a[1])) }),
		"slow-init":      probeSlowInit,
		"crash": silent(func([]string) error {
			// A fault that the runtime does not catch: as the kernel's default.
			action := [4]uintptr{}
			syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
			return dieOf(syscall.SIGSEGV)
		}),
	}
}

func probeList(a []string) (string, error) {
	d, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	sort.Strings(names)
	return strings.Join(names, " "), err
}

func probeBind(a []string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// A path may be too long for a socket's address.
	if err := os.Chdir(filepath.Dir(a[0])); err != nil {
		return err
	}
	return unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Base(a[0])})
}

// probeTmpfile makes a file without a name and gives it one.
func probeTmpfile(a []string) error {
	fd, err := unix.Open(filepath.Dir(a[0]), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[0], unix.AT_SYMLINK_FOLLOW)
}

func probeExec(a []string) (string, error) {
	var out []byte
	err := notBusy(func() (err error) {
		cmd := exec.Command(a[0])
		cmd.Args = a
		out, err = cmd.Output()
		return err
	})
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		err = nil // it ran
	}
	return strings.TrimSpace(string(out)), err
}

// probeMemExec executes the copy of a program that has no path.
func probeMemExec(a []string) (string, error) {
	b, err := os.ReadFile(a[0])
	if err != nil {
		return "", err
	}
	fd, err := unix.MemfdCreate("copy", 0)
	if err != nil {
		return "", err
	}
	if _, err := unix.Write(fd, b); err != nil {
		return "", err
	}
	return probeExec([]string{fmt.Sprintf("/proc/self/fd/%d", fd)})
}

// probeExecutable executes a file that is no program: ENOEXEC means that the
// kernel would have started it.
func probeExecutable(a []string) error {
	return notBusy(func() error {
		err := syscall.Exec(a[0], a[:1], nil)
		if errors.Is(err, syscall.ENOEXEC) {
			return nil
		}
		return err
	})
}

// notBusy tries again while a file is open for writing: the test has closed it,
// but a process that it was just forking somewhere else may not have yet.
func notBusy(f func() error) (err error) {
	for range 300 {
		if err = f(); !errors.Is(err, syscall.ETXTBSY) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func probeMapExec(a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b, err := unix.Mmap(fd, 0, 1, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err == nil {
		unix.Munmap(b)
	}
	return err
}

// probeStatus answers with the given fields of /proc/self/status.
func probeStatus(a []string) (string, error) {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return "", err
	}
	var out []string
	for _, want := range a {
		for line := range strings.Lines(string(b)) {
			if name, value, _ := strings.Cut(line, ":"); name == want {
				out = append(out, strings.TrimSpace(value))
			}
		}
	}
	return strings.Join(out, " "), nil
}

// probeDescriptors lists what was open at the start. The runtime's own poller is
// not the launcher's.
func probeDescriptors([]string) (string, error) {
	var out []string
	for fd := range 1000 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		if name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); !strings.HasPrefix(name, "anon_inode:[event") {
			out = append(out, strconv.Itoa(fd))
		}
	}
	return strings.Join(out, " "), nil
}

func probeLimit(a []string) (string, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(number(a[0]), &l)
	return fmt.Sprint(l.Cur, l.Max), err
}

// probeVerify looks from inside whether this jail holds: a[0] is a file of the
// host, a[1] a process of it, a[2] a directory that is granted but for "masked",
// "ro" and the absent ".envrc" in it; the rest are the namespaces of the launcher.
func probeVerify(a []string) error {
	const none = "0000000000000000"
	for _, c := range []struct {
		try  attempt
		want outcome
	}{
		{try("status", "NoNewPrivs", "Seccomp"), "ok 1 2"},
		{try("status", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "ok " + strings.Join([]string{none, none, none, none, none}, " ")},
		{try("fds"), "ok 0 1 2"},
		{try("env"), "ok PATH=/usr/bin"},
		{try("limit", fmt.Sprint(unix.RLIMIT_CORE)), "ok 1 1"},
		{try("limit", fmt.Sprint(unix.RLIMIT_NOFILE)), "ok 200 200"},
		{try("read", "/etc/hostname"), "ok mcp-jail\n"},
		{try("list", "/"), "EACCES"},
		// Files.
		{try("read", a[0]), "ENOENT"},
		{try("read", a[2]+"/masked"), "EACCES"},
		{try("read", a[2]+"/ro/x"), "ok x"},
		{try("write", a[2]+"/ro/x"), "EROFS"},
		{try("rename", a[2]+"/ro", a[2]+"/rw"), "EBUSY"},
		{try("exec", a[2]+"/plain"), "EACCES"}, // Landlock, and nothing else
		{try("create", "/x"), "EROFS"},
		// Processes and the kernel.
		{try("kill", a[1]), "ESRCH"},
		{try("kill", "1"), "EPERM"},
		{try("open", "/proc/1/environ"), "EACCES"},
		{try("unshare", fmt.Sprint(unix.CLONE_NEWUSER)), "EPERM"},
		{try("mount", "/tmp"), "EPERM"},
		{try("setns", "/proc/self/ns/uts"), "EPERM"},
		{try("keyring"), "EPERM"},
		{try("ptrace"), "EPERM"},
		// The network.
		{try("socket", fmt.Sprint(unix.AF_PACKET), "3", "0"), "EAFNOSUPPORT"},
		{try("dial", "udp", "198.51.100.1:9"), "ENETUNREACH"},
	} {
		if got := makeAttempt(c.try); got != c.want {
			return fmt.Errorf("%v: %s, want %s", c.try, got, c.want)
		}
	}
	if got := makeAttempt(try("create", a[2]+"/.envrc")); strings.HasPrefix(got, succeeded) {
		return fmt.Errorf("a protected name was made")
	}
	for i, kind := range namespaceKinds {
		if ns, err := os.Readlink("/proc/self/ns/" + kind); err != nil || ns == a[3+i] {
			return fmt.Errorf("the namespace %s is the launcher's (%v)", ns, err)
		}
	}
	return nil
}

// namespaceKinds are those that every jail has of its own.
var namespaceKinds = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

// child starts a process that only waits.
func child() (*exec.Cmd, error) {
	cmd := exec.Command(testBinaryOfProbe())
	cmd.Args = []string{probeName, `[["wait"]]`}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	io.ReadFull(out, make([]byte, 5))
	return cmd, nil
}

func testBinaryOfProbe() string {
	p, _ := os.Readlink("/proc/self/exe")
	return p
}

func probePtrace([]string) error {
	c, err := child()
	if err != nil {
		return err
	}
	defer c.Process.Kill()
	return unix.PtraceAttach(c.Process.Pid)
}

// probeReadMemory reads a process's memory: a child of its own, or a[0].
func probeReadMemory(a []string) error {
	b := make([]byte, 1)
	x := uintptr(unsafe.Pointer(&b[0]))
	_, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: x, Len: 1}}, 0)
	return err
}

// probeLoopback talks to itself over 127.0.0.1.
func probeLoopback([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Write([]byte("x"))
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// probeTerminal types into a terminal, as TIOCSTI does.
func probeTerminal([]string) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("no terminal: %v", err)
	}
	defer unix.Close(master)
	c := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return errno
	}
	return nil
}

func dieOf(sig syscall.Signal) error {
	signal.Reset(sig)
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return errors.New("still alive")
}

// probeCatch waits for one of the signals that are passed on.
func probeCatch([]string) (string, error) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	fmt.Fprintln(os.Stderr, "ready")
	return (<-c).String(), nil
}

// probeDaemon leaves two processes behind, each in a session of its own, and
// only then goes on: a[0] generations are still to come.
func probeDaemon(a []string) error {
	if a[0] == "0s" { // one that ends by itself
		cmd := exec.Command("/usr/bin/sleep", "3")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		fmt.Fprintln(os.Stderr, "daemon")
		return cmd.Start()
	}
	if n := number(a[0]); n > 0 {
		cmd := exec.Command(testBinaryOfProbe())
		cmd.Args = []string{probeName, fmt.Sprintf(`[["daemon", "%d"]]`, n-1)}
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Fprintln(os.Stderr, "daemon")
	time.Sleep(time.Hour)
	return nil
}

// probeBomb keeps a[0] processes that each start another one and end, in sessions
// of their own.
func probeBomb(a []string) error {
	for range number(a[0]) {
		cmd := exec.Command("/usr/bin/sh", "-c", `trap "" TERM HUP INT; me() { me & }; while :; do (sleep 0.01 & sleep 0.01) & wait; done`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "daemon")
	time.Sleep(time.Hour)
	return nil
}

func probeOpenFiles([]string) (string, error) {
	for n := 0; ; n++ {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Sprintf("%d %s", n, unix.ErrnoName(err.(syscall.Errno))), nil
		}
	}
}

// probeFill writes a[1] MB into a file.
func probeFill(a []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	f, err := os.Create(a[0])
	if err != nil {
		return err
	}
	defer f.Close()
	for range number(a[1]) {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
	}
	return nil
}

// probeFork makes processes that wait, at most a[0] of them.
func probeFork(a []string) (string, error) {
	most := number(a[0])
	for n := range most {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return fmt.Sprintf("%d %s", n, unix.ErrnoName(errno)), nil
		}
		if pid == 0 {
			for {
				syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	return strconv.Itoa(most), nil
}

// probeForkBusy has as many processes as it gets, of which each makes, moves and removes
// directories, and tries to have more, for some seconds.
func probeForkBusy(a []string) (string, error) {
	most, seconds := number(a[0]), number(a[1])
	spareThreads(runsAtOnce, func() {}) // of a runtime that dies without
	clone := func() (uintptr, syscall.Errno) {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid, errno
	}
	for n := range most {
		from, to := fmt.Appendf(nil, "from%d\x00", n), fmt.Appendf(nil, "to%d\x00", n)
		at := ^uintptr(99) // AT_FDCWD
		pid, errno := clone()
		if errno != 0 {
			time.Sleep(time.Duration(seconds) * time.Second)
			return fmt.Sprintf("%d %s", n, unix.ErrnoName(errno)), nil
		}
		if pid == 0 { // nothing of the runtime works here
			for {
				syscall.RawSyscall(unix.SYS_MKDIRAT, at, uintptr(unsafe.Pointer(&from[0])), 0o700)
				syscall.RawSyscall6(unix.SYS_RENAMEAT, at, uintptr(unsafe.Pointer(&from[0])), at, uintptr(unsafe.Pointer(&to[0])), 0, 0)
				syscall.RawSyscall(unix.SYS_UNLINKAT, at, uintptr(unsafe.Pointer(&to[0])), unix.AT_REMOVEDIR)
				if pid, errno := clone(); errno == 0 && pid == 0 {
					syscall.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
				}
			}
		}
	}
	return strconv.Itoa(most), nil
}

// probeAllocate uses a[0] MB and keeps them.
func probeAllocate(a []string, kind int) error {
	b, err := unix.Mmap(-1, 0, number(a[0])<<20, unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	time.Sleep(20 * time.Second)
	return nil
}

func onFD(name string, f func(fd int) error) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

// probeCapabilities answers with the sets that this thread holds, without /proc.
func probeCapabilities([]string) (string, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	err := unix.Capget(&hdr, &caps[0])
	hex := func(low, high uint32) string { return fmt.Sprintf("%08x%08x", high, low) }
	return hex(caps[0].Effective, caps[1].Effective) + " " + hex(caps[0].Permitted, caps[1].Permitted) + " " + hex(caps[0].Inheritable, caps[1].Inheritable), err
}

func mqOpen(name string, flags int) (int, error) {
	b, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(b)), uintptr(flags|unix.O_CLOEXEC), 0o600, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func mqUnlink(name string) {
	if b, err := unix.BytePtrFromString(name); err == nil {
		unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(b)), 0, 0)
	}
}

// signalInit looks for a thread of the init that may be signalled, without a signal.
func signalInit([]string) error {
	init, threads := os.Getppid(), 0
	for tid := init; tid < init+512; tid++ {
		err := unix.Tgkill(init, tid, 0)
		if err == unix.ESRCH {
			continue // not the init's
		}
		threads++
		for _, err := range []error{err, unix.Kill(tid, 0), tkill(tid)} {
			if err != unix.EPERM {
				return err
			}
		}
	}
	if threads < 2 {
		return unix.ENOENT
	}
	return unix.EPERM
}

func tkill(tid int) error {
	if _, _, errno := unix.Syscall(unix.SYS_TKILL, uintptr(tid), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
