package sockets

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// A server's UDP socket is one end of a pair of UNIX sockets (SOCK_SEQPACKET). The launcher has
// the other end: every message of the server arrives there, and DNS answers come back. The
// kernel ignores the addresses of messages on such a socket (unix(7)), so a message cannot
// reach another destination, and a send can continue in the kernel.
//
// The handler only makes the socket look like UDP: socket names, the sender of an answer, and
// errors for other destinations. It observes the calls that only send, and performs those that
// ask for the sender.

func asksDNS(to netip.AddrPort) bool { return to.Port() == spec.GatewayPort }

// soPassRights is SO_PASSRIGHTS.
const soPassRights = 83

func (s *Handler) makeDatagrams(n *seccomp.Notification, family, flags int) outcome {
	if family == unix.AF_INET6 { // returns EAFNOSUPPORT if the host has no IPv6
		probe, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return failed(step.ErrnoOrEIO(err))
		}
		unix.Close(probe)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|flags&unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return failed(step.ErrnoOrEIO(err))
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	// Refuse descriptors from the server: with SO_LINGER set, their close would block the
	// launcher. Before Linux 6.16 the kernel lacks the option, and the launcher closes them.
	unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, soPassRights, 0)
	id, errno := s.register(pair[0])
	if errno != 0 {
		return failed(errno)
	}
	if err := s.broker.pass(spec.PassUDP, netip.AddrPort{}, pair[1]); err != nil {
		s.datagrams.drop(id)
		return failed(unix.ENOBUFS)
	}
	s.known.put(id, &socketState{family: family, isUDP: true, number: uint16(32768 + id%28000)})
	s.Listener.AddFD(n.Id, pair[0], flags&unix.SOCK_CLOEXEC != 0)
	return outcome{done: true}
}

func (s *Handler) datagram(n *seccomp.Notification, call string, fd int, o *socketState) outcome {
	switch call {
	case "connect":
		return s.connectDatagrams(n, fd, o)
	case "bind":
		at, errno := s.bind(n)
		if errno != 0 {
			return failed(errno)
		}
		o.local = sys.Sockaddr(netip.AddrPortFrom(o.unmap(at.Addr()), o.number))
		return outcome{}
	case "getsockname":
		return s.giveName(n, n.Args[1], n.Args[2], o.name())
	case "getpeername":
		if o.peer == nil {
			return failed(unix.ENOTCONN)
		}
		return s.giveName(n, n.Args[1], n.Args[2], o.peer)
	case "setsockopt":
		return outcome{} // no option has an effect on the messages
	case "getsockopt":
		return s.describe(n, o)
	case "sendto":
		return s.sends(n, o, n.Args[4], n.Args[5])
	case "sendmsg":
		return s.sendsMessage(n, o, n.Args[1])
	case "sendmmsg":
		count := min(uint64(uint32(n.Args[2])), maxMessages)
		for i := range count {
			if reply := s.sendsMessage(n, o, n.Args[1]+i*sizeofMmsghdr); !reply.proceed {
				return reply
			}
		}
		return letProceed
	}
	if fd < 0 {
		return letProceed // it is not kept any more: the receiver does not get the sender's address
	}
	return s.receives(n, call, fd, o)
}

// register returns what identifies a socket.
func (s *Handler) register(fd int) (id uint64, errno syscall.Errno) {
	if s.keeps {
		return s.datagrams.keep(fd)
	}
	id, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	return id, step.ErrnoOrEIO(err)
}

func (o *socketState) unmap(a netip.Addr) netip.Addr {
	if o.family == unix.AF_INET6 {
		return netip.AddrFrom16(a.As16())
	}
	return a
}

// name returns the answer to getsockname: like the kernel, a specific address after connect
// and no port before the first use.
func (o *socketState) name() []byte {
	if o.local != nil {
		return o.local
	}
	any, own := netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if o.family == unix.AF_INET6 {
		any, own = netip.IPv6Unspecified(), netip.IPv6Loopback()
	}
	switch {
	case o.peer != nil:
		return sys.Sockaddr(netip.AddrPortFrom(own, o.number))
	case o.last != nil:
		return sys.Sockaddr(netip.AddrPortFrom(any, o.number))
	}
	return sys.Sockaddr(netip.AddrPortFrom(any, 0))
}

// connectDatagrams connects a UDP socket to any address, as programs do to learn their own
// address. It tells the launcher of an address that is not a DNS server's. The launcher then
// closes the socket pair at the first message, which the server sees as an error.
func (s *Handler) connectDatagrams(n *seccomp.Notification, fd int, o *socketState) outcome {
	raw, errno := s.address(n, n.Args[1], n.Args[2])
	if errno != 0 {
		return failed(errno)
	}
	if binary.NativeEndian.Uint16(raw) == unix.AF_UNSPEC {
		o.setPeer(nil, nil)
		return outcome{}
	}
	to, errno := o.destination(raw)
	if errno != 0 {
		return failed(errno)
	}
	if told := !asksDNS(to); told || o.reported {
		unix.Sendto(fd, egress.ConnectedMessage(to), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
		o.reported = told
	}
	o.setPeer(raw, nil)
	return outcome{}
}

func (o *socketState) destination(raw []byte) (to netip.AddrPort, errno syscall.Errno) {
	to, ok := sys.ParseSockaddr(raw)
	switch {
	case len(raw) >= 2 && int(binary.NativeEndian.Uint16(raw)) != o.family:
		return to, unix.EAFNOSUPPORT
	case !ok:
		return to, unix.EINVAL
	}
	return to, 0
}

// sends decides about a message to an address, or without one (at is 0).
func (s *Handler) sends(n *seccomp.Notification, o *socketState, at, size uint64) outcome {
	if at == 0 || size == 0 {
		return letProceed
	}
	raw, errno := s.address(n, at, size)
	if errno != 0 {
		return failed(errno)
	}
	to, errno := o.destination(raw)
	switch {
	case errno != 0:
		return failed(errno)
	case !asksDNS(to):
		s.broker.request(spec.RequestRefused, to)
		return failed(unix.EPERM)
	}
	o.setPeer(o.peer, raw)
	return letProceed
}

// Offsets and sizes of struct msghdr and struct mmsghdr on 64-bit machines.
const (
	msgNameLen    = 8
	msgIov        = 16
	msgIovLen     = 24
	msgControlLen = 40
	msgFlags      = 48
	sizeofMsghdr  = 56
	sizeofMmsghdr = 64
	sizeofIovec   = 16

	maxMessages = 1024 // UIO_MAXIOV, for messages and for iovecs
)

func (s *Handler) sendsMessage(n *seccomp.Notification, o *socketState, at uint64) outcome {
	var h [sizeofMsghdr]byte
	if errno := s.read(n, at, h[:]); errno != 0 {
		return failed(errno)
	}
	return s.sends(n, o, binary.NativeEndian.Uint64(h[:]), uint64(binary.NativeEndian.Uint32(h[msgNameLen:])))
}

func (s *Handler) describe(n *seccomp.Notification, o *socketState) outcome {
	value := map[uint64]int{seccomp.SoType: unix.SOCK_DGRAM, seccomp.SoProtocol: unix.IPPROTO_UDP, seccomp.SoDomain: o.family}[uint64(uint32(n.Args[2]))]
	return s.giveName(n, n.Args[3], n.Args[4], binary.NativeEndian.AppendUint32(nil, uint32(value)))
}
