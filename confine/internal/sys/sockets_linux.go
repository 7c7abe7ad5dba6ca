package sys

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// soBindToIfindex is SO_BINDTOIFINDEX; lo has the same index in every network namespace.
const SoBindToIfindex = 62

func BindToLo(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, SoBindToIfindex, LoIndex)
}

// sockaddr is struct sockaddr_in or sockaddr_in6 of an address.
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

// nameOf is getsockname(2) or getpeername(2), of sockets of the network.
func NameOf(sa unix.Sockaddr, err error) (netip.AddrPort, bool) {
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
