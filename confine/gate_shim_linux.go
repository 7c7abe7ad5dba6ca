package confine

import (
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const stepNetwork = "network"

// beginGate does on another thread what nothing else of the jail depends on: the
// kernel takes its time over changes to a network, since they are made one after the
// other for all namespaces.
func (s *shim) beginGate() error {
	if !s.order.Gate.any() {
		s.gate.close(nil)
		return nil
	}
	go func() { s.gate.close(s.openGate()) }()
	return nil
}

// openGate makes every address local and hands the sockets over at which what the
// server sends to them arrives. The shim keeps none: only the launcher can accept on
// them, and with the launcher they are gone.
func (s *shim) openGate() error {
	if err := s.up.wait(); err != nil {
		return err
	}
	var g gateSockets
	defer g.close()
	if s.order.Gate.Open {
		if err := everyAddressLocal(); err != nil {
			return err
		}
		if err := g.open(&s.order.Gate); err != nil {
			return err
		}
	}
	if g.blind {
		s.say(message{kind: saysNote, detail: "this kernel has no packet sockets: what the server tries at ports that no rule grants is refused, and not recorded"})
	}
	if s.order.Gate.Inbound {
		for range spareSockets {
			if err := g.openSpare(); err != nil {
				return on("inbound", err)
			}
		}
	}
	return on("hand over", g.handOver())
}

// awaitGate returns when the launcher serves what was handed to it.
func (s *shim) awaitGate() error {
	if !s.order.Gate.any() {
		return nil
	}
	return readFull(make([]byte, 1))
}

// awayProbe asks where a packet to an address that is nobody's (RFC 5737, RFC 3849)
// would come from, and fails where that is the jail itself. Connecting a datagram
// socket sends nothing.
func awayProbe() error {
	for _, to := range []unix.Sockaddr{
		&unix.SockaddrInet4{Port: 9, Addr: [4]byte{198, 51, 100, 1}},
		&unix.SockaddrInet6{Port: 9, Addr: [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}},
	} {
		if away(to) {
			return nil
		}
	}
	return unix.ENETUNREACH
}

func away(to unix.Sockaddr) bool {
	family := unix.AF_INET
	if _, six := to.(*unix.SockaddrInet6); six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if unix.Connect(fd, to) != nil {
		return false
	}
	from, err := unix.Getsockname(fd)
	if err != nil {
		return true
	}
	switch from := from.(type) {
	case *unix.SockaddrInet4:
		return from.Addr != to.(*unix.SockaddrInet4).Addr
	case *unix.SockaddrInet6:
		return from.Addr != to.(*unix.SockaddrInet6).Addr && from.Addr != [16]byte{15: 1}
	}
	return true
}

// gateSockets are open sockets, and what each is.
type gateSockets struct {
	family int
	fds    []int
	kinds  []byte
	blind  bool // this kernel has no packet sockets
}

func (g *gateSockets) close() {
	for _, fd := range g.fds {
		unix.Close(fd)
	}
}

func (g *gateSockets) open(o *gateOrder) error {
	if err := g.openDNS(); err != nil {
		return err
	}
	if err := g.listen(handedDNSTCP, gatePort); err != nil {
		return err
	}
	for _, port := range o.Ports {
		if err := g.listen(handedTCP, port); err != nil {
			return err
		}
	}
	err := g.openRefused(o.Refused)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		g.blind, err = true, nil
	}
	return err
}

// add makes a socket. Everything is for both families, but where the kernel has no
// IPv6.
func (g *gateSockets) add(kind byte, family, typ, proto int) (int, error) {
	fd, err := unix.Socket(family, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err == nil {
		g.fds, g.kinds = append(g.fds, fd), append(g.kinds, kind)
	}
	return fd, err
}

func (g *gateSockets) bind(fd int, port uint16) error {
	if g.family == unix.AF_INET {
		return unix.Bind(fd, &unix.SockaddrInet4{Port: int(port)})
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
		return err
	}
	return unix.Bind(fd, &unix.SockaddrInet6{Port: int(port)})
}

// openDNS: an answer must leave from the address that was asked, which is told with
// each packet, and is none of an interface.
func (g *gateSockets) openDNS() error {
	g.family = unix.AF_INET6
	fd, err := g.add(handedDNS, g.family, unix.SOCK_DGRAM, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		g.family = unix.AF_INET
		fd, err = g.add(handedDNS, g.family, unix.SOCK_DGRAM, 0)
	}
	if err != nil {
		return on("DNS", err)
	}
	if g.family == unix.AF_INET {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	} else if err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1); err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
	}
	if err == nil {
		err = g.bind(fd, gatePort)
	}
	return on("DNS", err)
}

func (g *gateSockets) listen(kind byte, port uint16) error {
	fd, err := g.add(kind, g.family, unix.SOCK_STREAM, 0)
	if err == nil {
		err = g.bind(fd, port)
	}
	if err == nil {
		err = unix.Listen(fd, listenBacklog)
	}
	return on("listener", err)
}

// listenBacklog is cut by the kernel to net.core.somaxconn, 4096.
const listenBacklog = 1 << 15

// openRefused opens the packet socket. It sees nothing before it has its filter: with
// protocol 0 it is on no interface.
func (g *gateSockets) openRefused(filter []byte) error {
	fd, err := g.add(handedRefused, unix.AF_PACKET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return on("packet socket", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter) / sizeofSockFilter), Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(filter)))}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err != nil {
		return on("packet filter", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return on("packet filter", err) // on lo everything comes by twice
	}
	everything := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	return on("packet socket", unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: loIndex}))
}

// openSpare makes a socket that somebody outside will connect to the server.
func (g *gateSockets) openSpare() error {
	_, err := g.add(handedSpare, unix.AF_INET6, unix.SOCK_STREAM, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		_, err = g.add(handedSpare, unix.AF_INET, unix.SOCK_STREAM, 0)
	}
	return err
}

// handSpare is what the init does when it is asked for one more. Where it cannot, the
// launcher has one less.
func handSpare() {
	var g gateSockets
	defer g.close()
	if g.openSpare() == nil {
		unix.Sendmsg(orderFD, g.kinds, unix.UnixRights(g.fds...), nil, unix.MSG_NOSIGNAL)
	}
}

// handOver sends all of them over the socket that the order came by.
func (g *gateSockets) handOver() error {
	fds, kinds := g.fds, g.kinds
	for len(fds) > 0 {
		n := min(len(fds), maxHanded)
		if err := unix.Sendmsg(orderFD, kinds[:n], unix.UnixRights(fds[:n]...), nil, unix.MSG_NOSIGNAL); err != nil {
			return err
		}
		fds, kinds = fds[n:], kinds[n:]
	}
	_, err := syscall.Write(orderFD, []byte{handedAll})
	return err
}

// loIndex is the number of the first interface of a network namespace.
const loIndex = 1

// everyAddressLocal gives lo an address that is no loopback address, without which
// glibc takes the host for one without IPv4 (getaddrinfo(3), AI_ADDRCONFIG), and has
// all of both families lead to lo.
func everyAddressLocal() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return on("netlink", err)
	}
	defer unix.Close(fd)
	// linux/if_addr.h, linux/rtnetlink.h: family, prefix length, flags, scope, index;
	// family, lengths of destination and source, tos, table, protocol, scope, type, flags.
	address := append([]byte{unix.AF_INET, 32, 0, unix.RT_SCOPE_HOST}, native32(loIndex)...)
	address = append(address, attribute(unix.IFA_LOCAL, []byte{192, 0, 0, 2})...)
	route := func(family byte) []byte {
		b := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		return append(b, attribute(unix.RTA_OIF, native32(loIndex))...)
	}
	if err := askRoute(fd, unix.RTM_NEWADDR, address); err != nil {
		return on("address of lo", err)
	}
	if err := askRoute(fd, unix.RTM_NEWROUTE, route(unix.AF_INET)); err != nil {
		return on("route", err)
	}
	err = askRoute(fd, unix.RTM_NEWROUTE, route(unix.AF_INET6))
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EACCES) {
		return nil // no IPv6 in this kernel, or it is turned off: there is less to reach
	}
	return on("route of IPv6", err)
}

func native32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// attribute is a struct rtattr. Its payload is a multiple of four bytes.
func attribute(kind uint16, payload []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(payload)))
	return append(binary.NativeEndian.AppendUint16(b, kind), payload...)
}

// askRoute makes one change and reads the kernel's word about it (netlink(7)).
func askRoute(fd int, kind uint16, body []byte) error {
	b := native32(uint32(unix.SizeofNlMsghdr + len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = append(append(b, make([]byte, 8)...), body...)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return unix.EBADMSG
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}
