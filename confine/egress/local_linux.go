package egress

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"
)

// isLocal is the default of Options.IsLocal. It asks the kernel for the route to an address
// (RTM_GETROUTE), since the host answers more than the addresses of its interfaces: also those of a
// local route, which load balancers use, and anycast ones.
func isLocal(addr netip.Addr) (bool, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return false, fmt.Errorf("the kernel's routes: %w", err)
	}
	defer syscall.Close(fd)
	limit := syscall.Timeval{Sec: 5}
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit); err != nil {
		return false, fmt.Errorf("the kernel's routes: %w", err)
	}
	if err := syscall.Sendto(fd, routeRequest(addr), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return false, fmt.Errorf("the kernel's routes: %w", err)
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return false, fmt.Errorf("the kernel's routes: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil || len(messages) != 1 {
		return false, fmt.Errorf("the kernel's routes: an answer of %d bytes cannot be read", n)
	}
	switch m := messages[0]; {
	case m.Header.Type == syscall.RTM_NEWROUTE && len(m.Data) >= syscall.SizeofRtMsg:
		kind := m.Data[7] // rtm_type
		return kind == syscall.RTN_LOCAL || kind == syscall.RTN_ANYCAST, nil
	case m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4:
		switch errno := syscall.Errno(-int32(binary.NativeEndian.Uint32(m.Data))); errno {
		case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EACCES, syscall.EINVAL: // no route, or one that refuses
			return false, nil
		default:
			return false, fmt.Errorf("the kernel's routes: %w", errno)
		}
	}
	return false, fmt.Errorf("the kernel's routes: an answer of type %d", messages[0].Header.Type)
}

func routeRequest(addr netip.Addr) []byte {
	ip, family := addr.Unmap().AsSlice(), byte(syscall.AF_INET)
	if len(ip) == 16 {
		family = syscall.AF_INET6
	}
	attribute := syscall.SizeofRtAttr + len(ip)
	b := make([]byte, 0, syscall.SizeofNlMsghdr+syscall.SizeofRtMsg+attribute)
	b = binary.NativeEndian.AppendUint32(b, uint32(cap(b)))
	b = binary.NativeEndian.AppendUint16(b, syscall.RTM_GETROUTE)
	b = binary.NativeEndian.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence and port
	b = append(b, family, byte(8*len(ip)))
	b = append(b, make([]byte, syscall.SizeofRtMsg-2)...)
	b = binary.NativeEndian.AppendUint16(b, uint16(attribute))
	b = binary.NativeEndian.AppendUint16(b, syscall.RTA_DST)
	return append(b, ip...)
}
