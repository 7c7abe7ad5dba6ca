package jail

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// openNetwork routes every address to lo, and opens the sockets of the gateway, which so receive
// the packets of the server.
func (b *Builder) openNetwork() error {
	network := &b.Spec.Network
	g := &b.sockets
	*g = NetworkSockets{Task: b.Outer}
	if err := everyAddressLocal(g.Task); err != nil {
		return err
	}
	if err := g.open(network); err != nil {
		return err
	}
	if g.noPackets {
		b.Send(spec.Event{Kind: spec.EventNote, Detail: "this kernel has no packet sockets: connections to ports that no rule grants are blocked, but not recorded"})
	}
	if network.Inbound {
		for range spec.InboundSockets {
			if err := g.openInbound(); err != nil {
				return sys.On("inbound", err)
			}
		}
	}
	return nil
}

// limitNetwork sets the limits that are sysctls of the network namespace. It comes after the gateway's listeners,
// which keep the longer queues that they were opened with.
func (b *Builder) limitNetwork() (err error) {
	if b.proc < 0 { // the host's may be read-only
		return nil
	}
	set := func(name, value string) error { return sys.On(name, writeAt(b.Outer, b.proc, "sys/net/"+name, value)) }
	for _, s := range [][2]string{{"ipv4/tcp_rmem", "4096 131072 1048576"}, {"ipv4/tcp_wmem", "4096 16384 1048576"}, {"ipv4/tcp_orphan_retries", "1"}} {
		err = errors.Join(err, set(s[0], s[1]))
	}
	// Before Linux 6.4 a user namespace does not have this one.
	outcome := b.Outer.Optional(func() error { return set("core/somaxconn", "128") })
	return errors.Join(err, b.Outer.OnComplete(func() error {
		if err := outcome(); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
		return nil
	}))
}

// passNetwork passes the sockets to the launcher and closes them in the jail. So only the
// launcher accepts connections, and its end closes the sockets.
func (b *Builder) passNetwork() error {
	g := &b.sockets
	for i := range g.Fds {
		g.Fds[i] = g.Task.Resolve(g.Fds[i])
	}
	if err := g.Pass(spec.ControlFD); err != nil {
		return sys.On("hand over", err)
	}
	g.Close()
	return nil
}

// PassInbound passes one more inbound socket from the supervisor to the launcher. If the
// supervisor cannot make one, the launcher has one less.
func PassInbound() {
	g := NetworkSockets{Task: &stub.Task{}}
	defer g.Close()
	if g.openInbound() == nil {
		g.send(spec.SpecFD, g.Kinds, g.Fds)
	}
}

// NetworkSockets are sockets of the jail's network for the launcher's gateway.
type NetworkSockets struct {
	Task      *stub.Task
	family    int
	Fds       []int
	Kinds     []byte
	noPackets bool // the kernel has no packet sockets
}

// Close closes the sockets.
func (g *NetworkSockets) Close() {
	for _, fd := range g.Fds {
		stub.Close(g.Task, fd)
	}
}

func (g *NetworkSockets) open(o *spec.Network) error {
	if err := g.openDNS(); err != nil {
		return err
	}
	if err := g.listen(spec.SocketDNSTCP, spec.GatewayPort); err != nil {
		return err
	}
	for _, port := range o.Ports {
		if err := g.listen(spec.SocketTCP, port); err != nil {
			return err
		}
	}
	err := g.openRefused(o.Refused)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		g.noPackets, err = true, nil
	}
	return err
}

func (g *NetworkSockets) add(kind byte, family, typ int) (int, error) {
	fd, err := stub.Socket(g.Task, family, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		g.Fds, g.Kinds = append(g.Fds, fd), append(g.Kinds, kind)
	}
	return fd, err
}

func (g *NetworkSockets) bind(fd int, port uint16) error {
	any := netip.IPv6Unspecified()
	if g.family == unix.AF_INET {
		any = netip.IPv4Unspecified()
	} else if err := stub.SetsockoptInt(g.Task, fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
		return err
	}
	return stub.Bind(g.Task, fd, sys.Sockaddr(netip.AddrPortFrom(any, port)))
}

// openDNS opens the UDP socket for DNS. An answer must come from the address that the server
// asked. So the kernel reports that address with each packet, and the socket may send from
// an address that no interface has.
func (g *NetworkSockets) openDNS() error {
	g.family = unix.AF_INET6
	fd, err := g.add(spec.SocketDNS, g.family, unix.SOCK_DGRAM)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		g.family = unix.AF_INET
		fd, err = g.add(spec.SocketDNS, g.family, unix.SOCK_DGRAM)
	}
	if err != nil {
		return sys.On("DNS", err)
	}
	if g.family == unix.AF_INET {
		err = stub.SetsockoptInt(g.Task, fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	} else if err = stub.SetsockoptInt(g.Task, fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1); err == nil {
		err = stub.SetsockoptInt(g.Task, fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
	}
	if err == nil {
		err = g.bind(fd, spec.GatewayPort)
	}
	return sys.On("DNS", err)
}

func (g *NetworkSockets) listen(kind byte, port uint16) error {
	fd, err := g.add(kind, g.family, unix.SOCK_STREAM)
	if err == nil {
		err = g.bind(fd, port)
	}
	if err == nil {
		err = stub.Listen(g.Task, fd, listenBacklog)
	}
	return sys.On("listener", err)
}

// listenBacklog is large. The kernel reduces it to net.core.somaxconn (4096 by default; see limitNetwork).
const listenBacklog = 1 << 15

// openRefused opens the packet socket that sees connections to ports without a listener. With
// protocol 0 it receives nothing until its filter is attached and it is bound.
func (g *NetworkSockets) openRefused(filter []byte) error {
	fd, err := g.add(spec.SocketPackets, unix.AF_PACKET, unix.SOCK_DGRAM)
	if err != nil {
		return sys.On("packet socket", err)
	}
	if err := stub.AttachFilter(g.Task, fd, filter); err != nil {
		return sys.On("packet filter", err)
	}
	if err := stub.SetsockoptInt(g.Task, fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return sys.On("packet filter", err) // lo shows each packet as outgoing and as incoming
	}
	return sys.On("packet socket", stub.Bind(g.Task, fd, everyPacket()))
}

func everyPacket() []byte {
	b := make([]byte, unix.SizeofSockaddrLinklayer)
	binary.NativeEndian.PutUint16(b, unix.AF_PACKET)
	binary.BigEndian.PutUint16(b[2:], unix.ETH_P_ALL)
	binary.NativeEndian.PutUint32(b[4:], sys.LoopbackIndex)
	return b
}

func (g *NetworkSockets) openInbound() error {
	_, err := g.add(spec.SocketInbound, unix.AF_INET6, unix.SOCK_STREAM)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		_, err = g.add(spec.SocketInbound, unix.AF_INET, unix.SOCK_STREAM)
	}
	return err
}

// Pass sends all sockets over a UNIX socket to the launcher.
func (g *NetworkSockets) Pass(socket int) error {
	fds, kinds := g.Fds, g.Kinds
	for len(fds) > 0 {
		n := min(len(fds), spec.MaxSockets)
		if err := g.send(socket, kinds[:n], fds[:n]); err != nil {
			return err
		}
		fds, kinds = fds[n:], kinds[n:]
	}
	_, err := stub.Write(g.Task, socket, []byte{spec.SocketsEnd})
	return err
}

func (g *NetworkSockets) send(socket int, kinds []byte, fds []int) error {
	return stub.Sendmsg(g.Task, socket, kinds, unix.UnixRights(fds...), unix.MSG_NOSIGNAL)
}

// everyAddressLocal routes all addresses of both families to lo. It also gives lo an address
// that is not a loopback address, because without one glibc looks up no IPv4 addresses
// (getaddrinfo(3), AI_ADDRCONFIG).
func everyAddressLocal(t *stub.Task) error {
	fd, err := stub.Socket(t, unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return sys.On("netlink", err)
	}
	defer stub.Close(t, fd)
	// linux/if_addr.h, linux/rtnetlink.h: family, prefix length, flags, scope, index;
	// family, lengths of destination and source, tos, table, protocol, scope, type, flags.
	address := append([]byte{unix.AF_INET, 32, 0, unix.RT_SCOPE_HOST}, native32(sys.LoopbackIndex)...)
	address = append(address, attribute(unix.IFA_LOCAL, []byte{192, 0, 0, 2})...)
	route := func(family byte) []byte {
		b := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		return append(b, attribute(unix.RTA_OIF, native32(sys.LoopbackIndex))...)
	}
	if err := askRoute(t, fd, unix.RTM_NEWADDR, address); err != nil {
		return sys.On("address of lo", err)
	}
	if err := askRoute(t, fd, unix.RTM_NEWROUTE, route(unix.AF_INET)); err != nil {
		return sys.On("route", err)
	}
	return sys.On("route of IPv6", askRoute(t, fd, unix.RTM_NEWROUTE, route(unix.AF_INET6),
		unix.EAFNOSUPPORT, unix.EOPNOTSUPP, unix.EACCES)) // the kernel has no IPv6, or it is turned off
}

func native32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// attribute returns a struct rtattr. The length of payload must be a multiple of four.
func attribute(kind uint16, payload []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(payload)))
	return append(binary.NativeEndian.AppendUint16(b, kind), payload...)
}

// askRoute requests one change and reads the kernel's answer (netlink(7)). It accepts the
// errors in may.
func askRoute(t *stub.Task, fd int, kind uint16, body []byte, may ...syscall.Errno) error {
	b := native32(uint32(unix.SizeofNlMsghdr + len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = append(append(b, make([]byte, 8)...), body...)
	if _, err := stub.Write(t, fd, b); err != nil { // an unconnected netlink socket writes to the kernel
		return err
	}
	answer := make([]byte, 4096)
	if _, err := stub.Read(t, fd, answer); err != nil {
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
