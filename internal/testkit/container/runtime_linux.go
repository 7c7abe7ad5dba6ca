package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Name is the argv[0] under which a test binary runs Main.
const Name = "container-runtime"

// Container says how a container differs from one without any wall. Its zero value has
// namespaces for mounts, processes, IPC and the host's name, the host's root, and a whole /proc.
type Container struct {
	Filter       []bpf.RawInstruction // a seccomp filter; nil for none
	NoNewPrivs   bool
	Caps         []string // the bounding set; nil for all
	Root         string   // a root directory; "" for the host's
	ReadOnly     bool     // the root is read-only, except for Writable
	Writable     []string // directories
	Tmpfs        []string // directories that are empty, and writable
	MaskProc     bool     // /proc is covered as runc covers it
	NoShm        bool     // no /dev/shm
	NoCgroup     bool     // nothing in /sys/fs/cgroup
	OwnNetwork   bool     // a network namespace of its own, with loopback only
	UserNS       bool     // a user namespace, in which the container's user is mapped to the caller
	UID          int      // the user of the container
	Init         bool     // a small init is PID 1, as with docker run --init
	NoUserSysctl bool     // user.max_user_namespaces is 0 in there: it needs UserNS
}

// DefaultCaps are the capabilities of a container of Docker.
var DefaultCaps = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE",
}

// capNumbers are those that tests name.
var capNumbers = map[string]uint{
	"CAP_CHOWN": unix.CAP_CHOWN, "CAP_DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "CAP_FSETID": unix.CAP_FSETID, "CAP_FOWNER": unix.CAP_FOWNER,
	"CAP_MKNOD": unix.CAP_MKNOD, "CAP_NET_RAW": unix.CAP_NET_RAW, "CAP_SETGID": unix.CAP_SETGID, "CAP_SETUID": unix.CAP_SETUID,
	"CAP_SETFCAP": unix.CAP_SETFCAP, "CAP_SETPCAP": unix.CAP_SETPCAP, "CAP_NET_BIND_SERVICE": unix.CAP_NET_BIND_SERVICE,
	"CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT, "CAP_KILL": unix.CAP_KILL, "CAP_AUDIT_WRITE": unix.CAP_AUDIT_WRITE,
	"CAP_SYS_PTRACE": unix.CAP_SYS_PTRACE, "CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN,
}

// Around makes a command run as the first process of a container, or as the child of its init.
// Without root the container has a user namespace.
func (c Container) Around(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		c.UserNS, c.UID = true, os.Getuid()
	}
	said, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if c.OwnNetwork {
		flags |= unix.CLONE_NEWNET
	}
	runtime.LockOSThread() // the kernel sends the signal when the thread ends that started the process
	t.Cleanup(runtime.UnlockOSThread)
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.UserNS {
		flags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: c.UID, HostID: os.Getuid(), Size: 1}}
		for number := range uintptr(unix.CAP_LAST_CAP + 1) {
			attr.AmbientCaps = append(attr.AmbientCaps, number) // Main needs them, as any user
		}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: c.UID, HostID: os.Getgid(), Size: 1}}
	}
	attr.Cloneflags = flags
	cmd.SysProcAttr = attr
	cmd.Args = append([]string{Name, string(said), cmd.Dir, cmd.Path}, cmd.Args...)
	cmd.Path, cmd.Err = "/proc/self/exe", nil
	if c.Root != "" {
		cmd.Dir = "" // it is a directory of that root
	}
	return cmd
}

// Main is the runtime: it makes the container around itself and becomes the program. Its
// arguments are the Container, a directory, the program's file, and its arguments.
func Main() {
	runtime.LockOSThread()
	var c Container
	err := json.Unmarshal([]byte(os.Args[1]), &c)
	dir, file, argv := os.Args[2], os.Args[3], os.Args[4:]
	if err == nil {
		err = c.enter(dir)
	}
	if err == nil && c.Init {
		os.Exit(initProcess(file, argv))
	}
	if err == nil {
		err = syscall.Exec(file, argv, os.Environ())
	}
	fmt.Fprintln(os.Stderr, Name+":", err)
	os.Exit(125)
}

// initProcess starts the program and reaps, as tini does.
func initProcess(file string, argv []string) int {
	cmd := &exec.Cmd{Path: file, Args: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, Name+":", err)
		return 125
	}
	os.Stdin.Close()
	os.Stdout.Close()
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 125
		case pid == cmd.Process.Pid && status.Signaled():
			return 128 + int(status.Signal())
		case pid == cmd.Process.Pid:
			return status.ExitStatus()
		}
	}
}

func (c Container) enter(dir string) error {
	for _, do := range []func() error{c.makeRoot, c.maskProc, func() error { return os.Chdir(cmpOr(dir, "/")) }, c.becomeUser} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s at %s: %w", cmpOr(source, kind), target, err)
	}
	return nil
}

// makeRoot makes the mounts of a container on a copy of the root, and enters it.
func (c Container) makeRoot() error {
	const at = "/mnt"
	err := errors.Join(
		mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""),
		mount(cmpOr(c.Root, "/"), at, "", unix.MS_BIND|unix.MS_REC, ""),
	)
	if err == nil && c.NoUserSysctl {
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}
	if err == nil && c.ReadOnly {
		err = unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	if err != nil {
		return err
	}
	for _, dir := range c.Writable {
		// The host's directory is still writable.
		if err := mount(dir, filepath.Join(at, dir), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	for _, dir := range c.Tmpfs {
		if err := mount("none", filepath.Join(at, dir), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return err
		}
	}
	if err := c.makeDev(at + "/dev"); err != nil {
		return err
	}
	if err := mount("proc", at+"/proc", "proc", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV, ""); err != nil {
		return err
	}
	if c.Root != "" {
		if err := mount("/sys", at+"/sys", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	if c.NoCgroup {
		if err := mount("none", at+"/sys/fs/cgroup", "tmpfs", unix.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	if err := os.Chdir(at); err != nil {
		return err
	}
	return errors.Join(unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), os.Chdir("/"))
}

var nodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// makeDev makes a /dev with the nodes of the host.
func (c Container) makeDev(at string) error {
	if err := mount("none", at, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return err
	}
	for _, name := range nodes {
		if err := os.WriteFile(at+"/"+name, nil, 0o666); err != nil {
			return err
		}
		if err := mount("/dev/"+name, at+"/"+name, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, at+"/"+link); err != nil {
			return err
		}
	}
	err := errors.Join(
		os.Mkdir(at+"/pts", 0o755),
		mount("devpts", at+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"),
	)
	if !c.NoShm {
		err = errors.Join(err, os.Mkdir(at+"/shm", 0o755), mount("shm", at+"/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV, "mode=1777"))
	}
	return err
}

// Paths that moby's default covers, and those that it makes read-only.
var (
	maskedPaths = []string{
		"/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
		"/proc/sched_debug", "/proc/scsi", "/sys/firmware",
	}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

func (c Container) maskProc() error {
	if !c.MaskProc {
		return nil
	}
	for _, name := range maskedPaths {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.IsDir():
			err = mount("tmpfs", name, "tmpfs", unix.MS_RDONLY, "")
		default:
			err = mount("/dev/null", name, "", unix.MS_BIND, "")
		}
		if err != nil {
			return err
		}
	}
	for _, name := range readonlyPaths {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		const flags = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
		if err := errors.Join(mount(name, name, "", unix.MS_BIND|unix.MS_REC, ""), mount("", name, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|flags, "")); err != nil {
			return err
		}
	}
	return nil
}

// becomeUser gives up what the container does not have, in runc's order: the filter comes before
// the capabilities, unless no_new_privs permits it later.
func (c Container) becomeUser() error {
	if c.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if c.Caps != nil {
		for number := range uint(unix.CAP_LAST_CAP + 1) {
			if !slices.ContainsFunc(c.Caps, func(name string) bool { return capNumbers[name] == number }) {
				if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0); err != nil && err != unix.EINVAL {
					return err
				}
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := installFilter(c.Filter); err != nil {
		return fmt.Errorf("the filter: %w", err)
	}
	if !c.UserNS {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(c.UID, c.UID, c.UID), syscall.Setresuid(c.UID, c.UID, c.UID)); err != nil {
			return err
		}
	}
	return nil
}

func installFilter(raw []bpf.RawInstruction) error {
	if raw == nil {
		return nil
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, ins := range raw {
		filter[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// All threads: Go's setuid calls change every thread, and those of the runtime are not locked.
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}
