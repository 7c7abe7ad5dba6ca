package confine

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

const stepNetwork = "network"

// openGate makes every address local and opens the sockets at which what the server sends
// to them arrives.
func (b *jailBuilder) openGate() error {
	order := &b.order.Gate
	if !order.any() {
		return nil
	}
	g := &b.sockets
	*g = gateSockets{t: b.outer}
	if order.Open {
		if err := everyAddressLocal(g.t); err != nil {
			return err
		}
		if err := g.open(order); err != nil {
			return err
		}
	}
	if g.blind {
		b.say(message{kind: saysNote, detail: "this kernel has no packet sockets: what the server tries at ports that no rule grants is refused, and not recorded"})
	}
	if order.Inbound {
		for range spareSockets {
			if err := g.openSpare(); err != nil {
				return on("inbound", err)
			}
		}
	}
	return nil
}

// handOverGate hands them over. The jail keeps none: only the launcher can accept on them,
// and with the launcher they are gone.
func (b *jailBuilder) handOverGate() error {
	if !b.order.Gate.any() {
		return nil
	}
	g := &b.sockets
	for i := range g.fds {
		g.fds[i] = g.t.Resolve(g.fds[i])
	}
	if err := g.handOver(controlFD); err != nil {
		return on("hand over", err)
	}
	g.close()
	return nil
}

// handSpare is what the supervisor does when it is asked for one more socket that somebody
// outside will connect to the server. Where it cannot, the launcher has one less.
func handSpare() {
	g := gateSockets{t: &stub.Task{}}
	defer g.close()
	if g.openSpare() == nil {
		g.send(orderFD, g.kinds, g.fds)
	}
}

// gateSockets are open sockets, and what each is.
type gateSockets struct {
	t      *stub.Task
	family int
	fds    []int
	kinds  []byte
	blind  bool // this kernel has no packet sockets
}

func (g *gateSockets) close() {
	for _, fd := range g.fds {
		g.t.Close(fd)
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
	fd, err := g.t.Socket(family, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err == nil {
		g.fds, g.kinds = append(g.fds, fd), append(g.kinds, kind)
	}
	return fd, err
}

func (g *gateSockets) bind(fd int, port uint16) error {
	any := netip.IPv6Unspecified()
	if g.family == unix.AF_INET {
		any = netip.IPv4Unspecified()
	} else if err := g.t.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
		return err
	}
	return g.t.Bind(fd, sockaddr(netip.AddrPortFrom(any, port)))
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
		err = g.t.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	} else if err = g.t.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1); err == nil {
		err = g.t.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
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
		err = g.t.Listen(fd, listenBacklog)
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
	if err := g.t.AttachFilter(fd, filter); err != nil {
		return on("packet filter", err)
	}
	if err := g.t.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return on("packet filter", err) // on lo everything comes by twice
	}
	return on("packet socket", g.t.Bind(fd, everyPacket()))
}

// everyPacket is a struct sockaddr_ll: all that comes by on lo.
func everyPacket() []byte {
	b := make([]byte, unix.SizeofSockaddrLinklayer)
	binary.NativeEndian.PutUint16(b, unix.AF_PACKET)
	binary.BigEndian.PutUint16(b[2:], unix.ETH_P_ALL)
	binary.NativeEndian.PutUint32(b[4:], loIndex)
	return b
}

// openSpare makes a socket that somebody outside will connect to the server.
func (g *gateSockets) openSpare() error {
	_, err := g.add(handedSpare, unix.AF_INET6, unix.SOCK_STREAM, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		_, err = g.add(handedSpare, unix.AF_INET, unix.SOCK_STREAM, 0)
	}
	return err
}

// handOver sends all of them over the socket that the order came by.
func (g *gateSockets) handOver(socket int) error {
	fds, kinds := g.fds, g.kinds
	for len(fds) > 0 {
		n := min(len(fds), maxHanded)
		if err := g.send(socket, kinds[:n], fds[:n]); err != nil {
			return err
		}
		fds, kinds = fds[n:], kinds[n:]
	}
	_, err := g.t.Write(socket, []byte{handedAll})
	return err
}

func (g *gateSockets) send(socket int, kinds []byte, fds []int) error {
	return g.t.Sendmsg(socket, kinds, unix.UnixRights(fds...), unix.MSG_NOSIGNAL)
}

// loIndex is the number of the first interface of a network namespace.
const loIndex = 1

// everyAddressLocal gives lo an address that is no loopback address, without which
// glibc takes the host for one without IPv4 (getaddrinfo(3), AI_ADDRCONFIG), and has
// all of both families lead to lo.
func everyAddressLocal(t *stub.Task) error {
	fd, err := t.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return on("netlink", err)
	}
	defer t.Close(fd)
	// linux/if_addr.h, linux/rtnetlink.h: family, prefix length, flags, scope, index;
	// family, lengths of destination and source, tos, table, protocol, scope, type, flags.
	address := append([]byte{unix.AF_INET, 32, 0, unix.RT_SCOPE_HOST}, native32(loIndex)...)
	address = append(address, attribute(unix.IFA_LOCAL, []byte{192, 0, 0, 2})...)
	route := func(family byte) []byte {
		b := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		return append(b, attribute(unix.RTA_OIF, native32(loIndex))...)
	}
	if err := askRoute(t, fd, unix.RTM_NEWADDR, address); err != nil {
		return on("address of lo", err)
	}
	if err := askRoute(t, fd, unix.RTM_NEWROUTE, route(unix.AF_INET)); err != nil {
		return on("route", err)
	}
	return on("route of IPv6", askRoute(t, fd, unix.RTM_NEWROUTE, route(unix.AF_INET6),
		unix.EAFNOSUPPORT, unix.EOPNOTSUPP, unix.EACCES)) // no IPv6 in this kernel, or it is turned off: there is less to reach
}

func native32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// attribute is a struct rtattr. Its payload is a multiple of four bytes.
func attribute(kind uint16, payload []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(payload)))
	return append(binary.NativeEndian.AppendUint16(b, kind), payload...)
}

// askRoute makes one change and reads the kernel's word about it (netlink(7)), which may
// be one of those.
func askRoute(t *stub.Task, fd int, kind uint16, body []byte, may ...syscall.Errno) error {
	b := native32(uint32(unix.SizeofNlMsghdr + len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = append(append(b, make([]byte, 8)...), body...)
	if _, err := t.Write(fd, b); err != nil { // to nobody else than the kernel
		return err
	}
	answer := make([]byte, 4096)
	if _, err := t.Read(fd, answer); err != nil {
		return err
	}
	return t.OnComplete(func() error {
		if binary.NativeEndian.Uint32(answer) < uint32(unix.SizeofNlMsghdr+4) || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
			return unix.EBADMSG
		}
		code := syscall.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])))
		if code == 0 || slices.Contains(may, code) {
			return nil
		}
		return code
	})
}
