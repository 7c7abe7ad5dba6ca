package jail

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// This file has the steps of outer, the task that becomes the supervisor: see Builder.

// mapIDs maps the launcher's user and group to themselves (user_namespaces(7)). Until
// then the stub has the overflow user and group.
func (b *Builder) mapIDs() error {
	uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	for _, f := range []struct{ name, content string }{
		{"setgroups", "deny"}, {"uid_map", uid + " " + uid + " 1"}, {"gid_map", gid + " " + gid + " 1"},
	} {
		if err := writeAt(b.Outer, -1, "/proc/self/"+f.name, f.content); err != nil {
			return sys.On(f.name, err)
		}
	}
	return nil
}

// bindToParent has the kernel kill the jail when the launcher dies. The stub checks that the
// launcher was still alive then. bindToParent also sets the umask for building.
func (b *Builder) bindToParent() error {
	umask := stub.Umask(b.Outer, 0o022) // for the modes of the jail's own files
	if b.Umask == spec.UnknownUmask {
		b.Outer.OnComplete(func() error { b.Umask = b.Outer.Resolve(umask); return nil })
	}
	if _, err := stub.Prctl(b.Outer, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)); err != nil {
		return err
	}
	_, err := stub.Prctl(b.Outer, unix.PR_SET_DUMPABLE, 0)
	return err
}

func (b *Builder) raiseFiles() error {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		return err
	}
	if err := stub.ExchangeRlimit(b.Outer, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: own.Max, Max: own.Max}, &b.nofile); err != nil {
		return err
	}
	b.Outer.Optional(func() error { return stub.ReserveFD(b.Outer, buildFDs) }) // fails if the limit is lower
	return nil
}

// buildFDs is the size that the shared table of descriptors gets at once. To grow a shared
// table later, the kernel waits for a grace period of RCU (see sys.FDTableTarget).
const buildFDs = 255

// forkInit forks the init in the inner PID namespace. Outer and init share the table of
// descriptors, the root and the working directory. So after pivot outer looks names up in
// the jail's root.
func (b *Builder) forkInit() (err error) {
	if b.namespaces, err = stub.Openat(b.Outer, unix.AT_FDCWD, "/proc/self/ns", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	_, err = b.Outer.Fork(b.Init, unix.CLONE_NEWPID|unix.CLONE_FILES|unix.CLONE_FS, &b.initPidfd)
	return err
}

// openOwnProc makes a proc for the supervisor, which shows the supervisor and the jail. The
// kernel may refuse it. The plan accounts for that.
func (b *Builder) openOwnProc() (err error) {
	b.proc, err = NewFS(b.Outer, "proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if errors.Is(err, unix.EPERM) {
		b.proc, err = -1, nil
	}
	return err
}

func (b *Builder) ownNetwork() (err error) {
	if err = stub.Unshare(b.Outer, unix.CLONE_NEWNET); err == nil {
		b.network, err = stub.Openat(b.Outer, b.namespaces, "net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	return err
}

// loopback brings up the one interface of an empty network namespace, so that
// a server can talk to its own children.
func loopback(t *stub.Task) error {
	fd, err := stub.Socket(t, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer stub.Close(t, fd)
	var request [40]byte // struct ifreq
	copy(request[:], "lo")
	binary.NativeEndian.PutUint16(request[unix.IFNAMSIZ:], unix.IFF_UP)
	_, err = stub.Ioctl(t, fd, unix.SIOCSIFFLAGS, request[:])
	return sys.On("lo", err)
}

// detachOldRoot detaches the old root, which pivot has stacked on the new one, while the init
// attaches mounts. The kernel mostly waits during this call.
func (b *Builder) detachOldRoot() error {
	if b.Outer.Batching() {
		if err := stub.WaitEvent(b.Outer, b.Pivoted); err != nil {
			return err
		}
	}
	if err := stub.Unmount(b.Outer, ".", unix.MNT_DETACH); err != nil {
		return sys.On("old root", err)
	}
	return sys.On("/", stub.Chdir(b.Outer, "/"))
}

func (b *Builder) takeStdio() error {
	if b.Ahead {
		return nil
	}
	var fds []int
	for _, f := range b.stdio.all() {
		if f != nil {
			fds = append(fds, int(f.Fd()))
		}
	}
	if fds == nil {
		return nil
	}
	err := unix.Sendmsg(int(b.Control.Fd()), []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(b.stdio)
	if err == unix.EPIPE || err == unix.ECONNRESET {
		return endedEarly()
	}
	if err != nil {
		return err
	}
	b.stdioRights = make([]byte, unix.CmsgSpace(4*3))
	return stub.ReceiveRights(b.Outer, spec.ControlFD, b.stdioRights, unix.MSG_CMSG_CLOEXEC)
}

// keepPtraceOnly leaves the supervisor CAP_SYS_PTRACE, with which it reads the server's memory
// and copies its descriptors, and no other capability. Without mediated calls it leaves none.
func (b *Builder) keepPtraceOnly() error {
	const kept = unix.CAP_SYS_PTRACE
	t := b.Outer
	if len(b.Spec.ListenerFilter) == 0 {
		return dropHeld(t)
	}
	if err := ClearAmbient(t); err != nil {
		return err
	}
	one := unix.CapUserData{Effective: 1 << kept, Permitted: 1 << kept, Inheritable: 1 << kept}
	setpcap := one
	setpcap.Effective |= 1 << unix.CAP_SETPCAP
	setpcap.Permitted |= 1 << unix.CAP_SETPCAP
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := stub.Capset(t, &hdr, &[2]unix.CapUserData{setpcap}); err != nil {
		return sys.On("capset", err)
	}
	if _, err := stub.Prctl(t, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, kept); err != nil {
		return sys.On("ambient", err)
	}
	if _, err := stub.Prctl(t, unix.PR_SET_SECUREBITS, lockedSecurebits); err != nil {
		return sys.On("securebits", err)
	}
	return sys.On("capset", stub.Capset(t, &hdr, &[2]unix.CapUserData{one}))
}
