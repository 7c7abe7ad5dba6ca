package sys

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// endpoint reads struct sockaddr_in or sockaddr_in6.
func Endpoint(b []byte) (netip.AddrPort, bool) {
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
