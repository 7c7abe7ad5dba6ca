package jail

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// SelfTest makes calls in the server's task that must fail, and fails itself if one of them
// succeeds. It then reads back the restrictions.
func (b *Restrictor) SelfTest() error {
	for _, p := range b.Checks() {
		if err := b.try(p); err != nil {
			return err
		}
	}
	return checkState(b.Server)
}

func (b *Restrictor) try(p check) error {
	outcome := b.Server.Optional(p.Try)
	return b.Server.OnComplete(func() error {
		if p.Judge(outcome()) == nil {
			return sys.On(p.What, sys.ErrNotEnforced)
		}
		return nil
	})
}

// CheckTracing checks that the server can trace no process, if the supervisor traces the starts
// of programs. Then only the second filter refuses ptrace to the server, so this check runs after
// that filter is installed. Otherwise SelfTest has the check.
func (b *Restrictor) CheckTracing() error {
	if !b.Spec.Profile.ConstrainsStarts() {
		return nil
	}
	return b.try(b.tracingCheck())
}

func (b *Restrictor) tracingCheck() check {
	return check{"trace a process", func() error { return stub.PtraceAttach(b.Server, 0) }, []syscall.Errno{unix.ESRCH}}
}

// check is a sequence of calls. At least one of them must fail. What they open stays open if none does: the server
// does not start then.
type check struct {
	What         string
	Try          func() error
	kernelErrnos []syscall.Errno // Judge returns nil for these
}

// Judge returns the error that proves a refusal, or nil. Some errors come from the kernel after
// the call has passed the filter, for example because no process has the number 0. They prove
// nothing, so Judge returns nil for them.
func (p *check) Judge(err error) error {
	if slices.Contains(p.kernelErrnos, sys.Errno(err)) {
		return nil
	}
	return err
}

// Checks returns the checks of this jail.
func (b *Restrictor) Checks() []check {
	t := b.Server
	checks := []check{
		{What: "mount", Try: func() error { return stub.Mount(t, "none", "/tmp", "tmpfs", 0) }},
		{"make a user namespace", func() error { return stub.Unshare(t, unix.CLONE_NEWUSER) }, []syscall.Errno{unix.EINVAL, unix.ENOSPC}},
		{What: "open a packet socket", Try: func() error { return trySocket(t, unix.AF_PACKET, unix.SOCK_RAW) }},
		{What: "open the terminal", Try: func() error { return tryTerminal(t) }},
	}
	if !b.Spec.Profile.ConstrainsStarts() { // else the filter of CheckTracing refuses it
		checks = append(checks, b.tracingCheck())
	}
	if b.HostNS {
		checks = append(checks, b.checksHostNS()...)
	} else {
		checks = append(checks, check{What: "see the launcher's process", Try: func() error { return trySignalLauncher(t, b.Spec.HostPID, b.parent, b.pid) }})
	}
	if !b.Spec.HostRoot() { // the jail must not create files there
		checks = append(checks, check{What: "write into the root", Try: func() error {
			const name = "/.mcp-jail-probe"
			err := stub.Mkdir(t, name, 0o700)
			if err == nil && b.HostNS { // on the host
				stub.Rmdir(t, name)
			}
			return err
		}})
	}
	if !b.HostNS {
		for _, to := range testNetAddrs {
			checks = append(checks, check{What: leaveNetwork, Try: func() error { return trySourceAddress(t, to) }})
		}
	}
	for _, dir := range b.Spec.MustFail {
		checks = append(checks, check{What: "list " + dir, Try: func() error { return tryListDir(t, dir) }})
	}
	return checks
}

// leaveNetwork is the name of the checks of the network.
const leaveNetwork = "find a way out of the network namespace"

// trySignalLauncher signals the launcher. In a container the launcher's number may be small,
// and equal to the number of a task of this jail.
func trySignalLauncher(t *stub.Task, pid, parent, server int) error {
	if pid == 1 || pid == parent || pid == server {
		_, err := t.Call(unix.SYS_KILL, ^uintptr(0), ^uintptr(0)) // no such signal
		return err
	}
	return stub.Kill(t, pid, 0)
}

func tryListDir(t *stub.Task, dir string) error {
	_, err := stub.Openat(t, unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

func trySocket(t *stub.Task, family, kind int) error {
	_, err := stub.Socket(t, family, kind|unix.SOCK_CLOEXEC, 0)
	return err
}

// tryTerminal opens the controlling terminal. There is none, because the init and the server
// lead sessions of their own. With autogroup scheduling (sched(7)) the session also keeps a
// busy server from starving the client.
func tryTerminal(t *stub.Task) error {
	fd, err := stub.Openat(t, unix.AT_FDCWD, "/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		_, err = stub.Ioctl(t, fd, unix.TCGETS, make([]byte, unsafe.Sizeof(unix.Termios{})))
	}
	return err
}

// testNetAddrs are addresses reserved for documentation (RFC 5737, RFC 3849).
var testNetAddrs = []netip.Addr{
	netip.AddrFrom4([4]byte{198, 51, 100, 1}),
	netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}),
}

// trySourceAddress connects a datagram socket to an address, which sends nothing. It returns an error
// if the source address shows that packets stay in the jail: it is the destination itself, or for IPv6
// a loopback address.
func trySourceAddress(t *stub.Task, to netip.Addr) error {
	family := unix.AF_INET
	if to.Is6() {
		family = unix.AF_INET6
	}
	fd, err := stub.Socket(t, family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer stub.Close(t, fd)
	if err := stub.Connect(t, fd, sys.Sockaddr(netip.AddrPortFrom(to, 9))); err != nil {
		return err
	}
	raw := new([unix.SizeofSockaddrAny]byte)
	if err := t.Required(func() error { return stub.Getsockname(t, fd, raw) }); err != nil {
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

func checkState(t *stub.Task) error {
	privileges, err := stub.Prctl(t, unix.PR_GET_NO_NEW_PRIVS)
	if err != nil {
		return sys.On("no_new_privs", sys.ErrNotEnforced)
	}
	filtered, err := stub.Prctl(t, unix.PR_GET_SECCOMP)
	if err != nil {
		return sys.On("seccomp", sys.ErrNotEnforced)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	caps := [2]unix.CapUserData{{Effective: 1}}
	if err := stub.Capget(t, &hdr, &caps); err != nil {
		return sys.On("capabilities", sys.ErrNotEnforced)
	}
	// In a batch the results are there only at its end.
	return t.OnComplete(func() error {
		switch {
		case t.Resolve(privileges) != 1:
			return sys.On("no_new_privs", sys.ErrNotEnforced)
		case t.Resolve(filtered) != 2:
			return sys.On("seccomp", sys.ErrNotEnforced)
		case caps != [2]unix.CapUserData{}:
			return sys.On("capabilities", sys.ErrNotEnforced)
		}
		return nil
	})
}

func (b *Restrictor) checksHostNS() []check {
	checks := []check{
		{What: "make shared memory", Try: func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
			if err == nil {
				unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
	}
	if b.Spec.Landlock.FS&ll.AccessFSResolveUnix == 0 {
		checks = append(checks, check{What: "make a UNIX socket", Try: func() error { return trySocket(b.Server, unix.AF_UNIX, unix.SOCK_STREAM) }})
	}
	switch {
	case b.Spec.Network.Brokered && b.Spec.Landlock.Net&ll.AccessNetConnectTCP != 0:
		checks = append(checks, check{What: "connect a TCP socket by itself", Try: tryConnect})
	case !b.Spec.Network.Brokered && !b.Spec.HostNames:
		checks = append(checks,
			check{What: "make a TCP socket", Try: func() error { return trySocket(b.Server, unix.AF_INET, unix.SOCK_STREAM) }},
			check{What: "make a UDP socket", Try: func() error { return trySocket(b.Server, unix.AF_INET6, unix.SOCK_DGRAM) }})
	}
	return checks
}

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
