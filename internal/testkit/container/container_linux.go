package container

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"

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
