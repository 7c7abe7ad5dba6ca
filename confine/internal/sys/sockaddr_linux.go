package sys

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

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
