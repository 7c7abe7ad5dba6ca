package sys

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Listeners looks TCP listeners up in the network namespace of a netlink socket (sock_diag(7)), which
// must be that of the calling thread. The lookup is the kernel's own for a SYN, so it finds a listener
// at any address, too. One thread may use it at a time.
type Listeners struct {
	Socket int

	checked  bool
	answers  bool // the kernel has this interface
	received [512]byte
}

// At reports whether a program listens at an address, and whether the kernel tells that.
func (l *Listeners) At(to netip.AddrPort) (yes, known bool) {
	if !l.checked {
		l.checked, l.answers = true, l.check()
	}
	if !l.answers {
		return false, false
	}
	return l.lookUp(to)
}

// check reports whether the kernel answers. One without the interface says ENOENT, as if there were
// no listener. So check looks a listener of this process up, at an address that no other uses.
func (l *Listeners) check() bool {
	own, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(own)
	if unix.Bind(own, &unix.SockaddrInet4{Addr: [4]byte{127, 255, 255, 254}}) != nil || unix.Listen(own, 0) != nil {
		return false
	}
	at, ok := AddrPortOf(unix.Getsockname(own))
	if !ok {
		return false
	}
	found, known := l.lookUp(at)
	return found && known
}

func (l *Listeners) lookUp(to netip.AddrPort) (yes, known bool) {
	// Raw, since neither call waits: the kernel answers within the write (netlink(7)).
	request := listenerRequest(to)
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(l.Socket), uintptr(unsafe.Pointer(&request[0])), uintptr(len(request)))
	if errno != 0 || int(n) != len(request) {
		return false, false
	}
	n, _, errno = unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(l.Socket), uintptr(unsafe.Pointer(&l.received[0])), uintptr(len(l.received)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 || n < unix.SizeofNlMsghdr+4 {
		return false, false
	}
	switch binary.NativeEndian.Uint16(l.received[4:]) {
	case unix.SOCK_DIAG_BY_FAMILY:
		return true, true
	case unix.NLMSG_ERROR: // ENOENT, or EINVAL of a kernel without IPv6
		return false, true
	}
	return false, false
}

// listenerRequest returns a request for the listener that a connection to an address would reach:
// struct nlmsghdr, and struct inet_diag_req_v2 of linux/inet_diag.h.
func listenerRequest(to netip.AddrPort) []byte {
	family, addr := byte(unix.AF_INET6), to.Addr().As16()
	if to.Addr().Is4() {
		family = unix.AF_INET
		v4 := to.Addr().As4()
		addr = [16]byte(append(v4[:], make([]byte, 12)...))
	}
	const size = unix.SizeofNlMsghdr + 56
	b := make([]byte, 0, size)
	b = binary.NativeEndian.AppendUint32(b, size)
	b = binary.NativeEndian.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence and port
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, 0) // states: an exact lookup ignores them
	b = binary.BigEndian.AppendUint16(b, to.Port())
	b = binary.BigEndian.AppendUint16(b, 0) // the peer's port: none, so no connection matches
	b = append(b, addr[:]...)
	b = append(b, make([]byte, 16)...) // the peer's address
	b = binary.NativeEndian.AppendUint32(b, LoopbackIndex)
	return append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// LoopbackIndex is the interface index of lo in every network namespace.
const LoopbackIndex = 1

// SoBindToIfindex is SO_BINDTOIFINDEX.
const SoBindToIfindex = 62

// BindToLoopback limits a socket to the loopback interface.
func BindToLoopback(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, SoBindToIfindex, LoopbackIndex)
}

// Sockaddr returns an address as struct sockaddr_in or sockaddr_in6.
func Sockaddr(to netip.AddrPort) []byte {
	var b []byte
	if to.Addr().Is4() {
		b = make([]byte, unix.SizeofSockaddrInet4)
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		a := to.Addr().As4()
		copy(b[4:], a[:])
	} else {
		b = make([]byte, unix.SizeofSockaddrInet6)
		binary.NativeEndian.PutUint16(b, unix.AF_INET6)
		a := to.Addr().As16()
		copy(b[8:], a[:])
	}
	binary.BigEndian.PutUint16(b[2:], to.Port())
	return b
}

// ParseSockaddr reads struct sockaddr_in or sockaddr_in6. It reports false for other families.
func ParseSockaddr(b []byte) (netip.AddrPort, bool) {
	if len(b) < 2 {
		return netip.AddrPort{}, false
	}
	port := func() uint16 { return binary.BigEndian.Uint16(b[2:]) }
	switch {
	case binary.NativeEndian.Uint16(b) == unix.AF_INET && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port()), true
	case binary.NativeEndian.Uint16(b) == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port()), true
	}
	return netip.AddrPort{}, false
}

// AddrPortOf converts the result of getsockname(2) or getpeername(2). It reports false if
// there is an error or the socket is not an Internet socket.
func AddrPortOf(sa unix.Sockaddr, err error) (netip.AddrPort, bool) {
	if err != nil {
		return netip.AddrPort{}, false
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), true
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port)), true
	}
	return netip.AddrPort{}, false
}

// ParseRights returns the descriptors of the first control message (SCM_RIGHTS).
func ParseRights(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}
