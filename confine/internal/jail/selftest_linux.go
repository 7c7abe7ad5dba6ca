package jail

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// selfTest tries, as the server would, what must fail. It is the last thing
// before the server starts: a jail that does not hold is not used.
func (b *Restrictor) SelfTest() error {
	for _, p := range b.Checks() {
		outcome := b.Server.Optional(p.Try)
		err := b.Server.OnComplete(func() error {
			if p.Judge(outcome()) == nil {
				return step.On(p.What, step.ErrNotEnforced)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return checkState(b.Server)
}

// check is calls one of which must fail.
type check struct {
	What         string
	Try          func() error
	kernelErrnos []syscall.Errno // see judge
}

// judge turns what the kernel always refuses here into success: to a process with threads
// a user namespace, or where there may be no more of them, and to trace nobody. Who hears
// that from it has got past the filter, and a server that is written for it gets further.
func (p *check) Judge(err error) error {
	if slices.Contains(p.kernelErrnos, step.Errno(err)) {
		return nil
	}
	return err
}

func (b *Restrictor) Checks() []check {
	t := b.Server
	probes := []check{
		{What: "mount", Try: func() error { return t.Mount("none", "/tmp", "tmpfs", 0) }},
		{"make a user namespace", func() error { return t.Unshare(unix.CLONE_NEWUSER) }, []syscall.Errno{unix.EINVAL, unix.ENOSPC}},
		{What: "open a packet socket", Try: func() error { return trySocket(t, unix.AF_PACKET, unix.SOCK_RAW) }},
		{"trace a process", func() error { return t.PtraceAttach(0) }, []syscall.Errno{unix.ESRCH}},
		{What: "open the terminal", Try: func() error { return TryTerminal(t) }},
	}
	if b.HostNS {
		probes = append(probes, b.checksHostNS()...)
	} else {
		probes = append(probes, check{What: "see the launcher's process", Try: func() error { return trySignalLauncher(t, b.Spec.HostPID, b.pid) }})
	}
	if !b.Spec.HostRoot() { // nothing may come into being there
		probes = append(probes, check{What: "write into the root", Try: func() error {
			const name = "/.mcp-jail-probe"
			err := t.Mkdir(name, 0o700)
			if err == nil && b.HostNS { // the host's
				t.Rmdir(name)
			}
			return err
		}})
	}
	switch {
	case b.Spec.Network.Open:
		for _, to := range testNetAddrs {
			probes = append(probes, check{What: leaveNetwork, Try: func() error { return trySourceAddress(t, to) }})
		}
	case !b.HostNS:
		probes = append(probes, check{What: leaveNetwork, Try: func() error { return tryRoute(t) }})
	}
	for _, dir := range b.Spec.MustFail {
		probes = append(probes, check{What: "list " + dir, Try: func() error { return tryListDir(t, dir) }})
	}
	return probes
}

const leaveNetwork = "find a way out of the network namespace"

// trySignalLauncher signals the launcher. A small number, as in a container, may be that of
// a task of our own here.
func trySignalLauncher(t *stub.Task, pid, server int) error {
	if pid == 1 || pid == server {
		_, err := t.Call(unix.SYS_KILL, ^uintptr(0), ^uintptr(0)) // no such signal
		return err
	}
	return t.Kill(pid, 0)
}

func tryListDir(t *stub.Task, dir string) error {
	fd, err := t.Openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		t.Close(fd)
	}
	return err
}

func trySocket(t *stub.Task, family, kind int) error {
	fd, err := t.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		t.Close(fd)
	}
	return err
}

// terminalProbe opens the terminal that controls this process. There is none: the init
// and the server lead sessions of their own. Where the kernel shares the processors out
// by session (sched(7), autogroup), that also keeps a server that takes all it can get
// from starving the client.
func TryTerminal(t *stub.Task) error {
	fd, err := t.Openat(unix.AT_FDCWD, "/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		_, err = t.Ioctl(fd, unix.TCGETS, make([]byte, unsafe.Sizeof(unix.Termios{})))
		t.Close(fd)
	}
	return err
}

// testNetAddrs are addresses that are nobody's (RFC 5737, RFC 3849).
var testNetAddrs = []netip.Addr{
	netip.AddrFrom4([4]byte{198, 51, 100, 1}),
	netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}),
}

// tryRoute asks for a route to nobody. Connecting a datagram socket sends nothing.
func tryRoute(t *stub.Task) error {
	fd, err := t.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	return t.Connect(fd, sys.Sockaddr(netip.AddrPortFrom(testNetAddrs[0], 9)))
}

// trySourceAddress asks where a packet to nobody would come from, and fails where that is the
// jail itself.
func trySourceAddress(t *stub.Task, to netip.Addr) error {
	family := unix.AF_INET
	if to.Is6() {
		family = unix.AF_INET6
	}
	fd, err := t.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	if err := t.Connect(fd, sys.Sockaddr(netip.AddrPortFrom(to, 9))); err != nil {
		return err
	}
	raw := new([unix.SizeofSockaddrAny]byte)
	if err := t.Required(func() error { return t.Getsockname(fd, raw) }); err != nil {
		return nil
	}
	from := func() error {
		if from, ok := sys.ParseSockaddr(raw[:]); ok && (from.Addr() == to || to.Is6() && from.Addr().IsLoopback()) {
			return unix.ENETUNREACH
		}
		return nil
	}
	return t.OnOptional(from)
}

// checkState reads back what the restricting calls set.
func checkState(t *stub.Task) error {
	privileges, err := t.Prctl(unix.PR_GET_NO_NEW_PRIVS)
	if err != nil {
		return step.On("no_new_privs", step.ErrNotEnforced)
	}
	filtered, err := t.Prctl(unix.PR_GET_SECCOMP)
	if err != nil {
		return step.On("seccomp", step.ErrNotEnforced)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	caps := [2]unix.CapUserData{{Effective: 1}}
	if err := t.Capget(&hdr, &caps); err != nil {
		return step.On("capabilities", step.ErrNotEnforced)
	}
	return t.OnComplete(func() error {
		switch {
		case t.Resolve(privileges) != 1:
			return step.On("no_new_privs", step.ErrNotEnforced)
		case t.Resolve(filtered) != 2:
			return step.On("seccomp", step.ErrNotEnforced)
		case caps != [2]unix.CapUserData{}:
			return step.On("capabilities", step.ErrNotEnforced)
		}
		return nil
	})
}

// checksHostNS are what must fail here, besides what must fail in every jail.
func (b *Restrictor) checksHostNS() []check {
	probes := []check{
		{What: "make shared memory", Try: func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
			if err == nil {
				unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
	}
	if b.Spec.Landlock.FS&ll.AccessFSResolveUnix == 0 {
		probes = append(probes, check{What: "make a UNIX socket", Try: func() error { return trySocket(b.Server, unix.AF_UNIX, unix.SOCK_STREAM) }})
	}
	switch {
	case b.Spec.Network.Asked && b.Spec.Landlock.Net&ll.AccessNetConnectTCP != 0:
		probes = append(probes, check{What: "connect a TCP socket by itself", Try: tryConnect})
	case !b.Spec.Network.Asked && !b.Spec.HostNames:
		probes = append(probes,
			check{What: "make a TCP socket", Try: func() error { return trySocket(b.Server, unix.AF_INET, unix.SOCK_STREAM) }},
			check{What: "make a UDP socket", Try: func() error { return trySocket(b.Server, unix.AF_INET6, unix.SOCK_DGRAM) }})
	}
	return probes
}

// tryConnect has Landlock say what it thinks of a connection that the server makes by
// itself: only a refusal by it counts.
func tryConnect() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}}); errors.Is(err, unix.EACCES) {
		return err
	}
	return nil
}
