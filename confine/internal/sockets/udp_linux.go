package sockets

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// A server's UDP socket is one end of a pair of UNIX sockets (SOCK_SEQPACKET). The launcher has the
// other end, and answers each message as a DNS query. The kernel ignores the addresses of messages
// on such a socket (unix(7)), so a message cannot reach another destination, and calls that send
// and receive continue in the kernel.
//
// The handler does what the resolvers of C libraries, of Go and of c-ares need: connect and bind
// succeed, getsockname names an Internet address, and an answer seems to come from the server that
// was asked. For that it writes the address into the caller's buffer before the kernel receives. The
// kernel leaves the buffer alone, and says that the address has no bytes, which these resolvers do
// not look at.

// soPassRights is SO_PASSRIGHTS.
const soPassRights = 83

func (s *Handler) makeDatagrams(n *seccomp.Notification, family, flags int) outcome {
	if family == unix.AF_INET6 { // returns EAFNOSUPPORT if the host has no IPv6
		probe, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return failed(sys.ErrnoOrEIO(err))
		}
		unix.Close(probe)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|flags&unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return failed(sys.ErrnoOrEIO(err))
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	// Refuse descriptors from the server: with SO_LINGER set, their close would block the
	// launcher. Before Linux 6.16 the kernel lacks the option, and the launcher closes them.
	unix.SetsockoptInt(pair[1], unix.SOL_SOCKET, soPassRights, 0)
	if !s.broker.request(spec.PassUDP, netip.AddrPort{}, pair[1]) {
		return failed(unix.ENOBUFS)
	}
	if err := s.add(pair[0], &socket{family: family, fd: -1}); err != nil {
		return failed(sys.ErrnoOrEIO(err))
	}
	s.listener.AddFD(n.Id, pair[0], flags&unix.SOCK_CLOEXEC != 0)
	return outcome{done: true}
}

// datagram answers a call on a UDP socket.
func (s *Handler) datagram(n *seccomp.Notification, call string, o *socket) outcome {
	switch call {
	case "connect": // to any address, as programs do to learn their own one
		raw, to, errno := s.address(n, o, n.Args[1], n.Args[2])
		if errno != 0 {
			return failed(errno)
		}
		o.peer = nil
		if to.IsValid() {
			o.peer = raw
		}
		return outcome{}
	case "sendto":
		return s.sendTo(n, o)
	case "getsockname":
		return s.nameDatagrams(n, o)
	case "recvfrom":
		if o.peer == nil {
			return letProceed
		}
		var room [4]byte
		if errno := s.read(n, n.Args[5], room[:]); errno != 0 {
			return failed(errno)
		}
		return s.giveSender(n, o, n.Args[4], binary.NativeEndian.Uint32(room[:]))
	case "recvmsg":
		var header [12]byte // of struct msghdr: the address of a buffer, and its size
		if o.peer == nil {
			return letProceed
		}
		if errno := s.read(n, n.Args[1], header[:]); errno != 0 {
			return failed(errno)
		}
		return s.giveSender(n, o, binary.NativeEndian.Uint64(header[:]), binary.NativeEndian.Uint32(header[8:]))
	}
	return letProceed
}

// sendTo refuses a message to another port than that of DNS.
func (s *Handler) sendTo(n *seccomp.Notification, o *socket) outcome {
	raw, to, errno := s.address(n, o, n.Args[4], n.Args[5])
	switch {
	case errno != 0:
		return failed(errno)
	case to.Port() != spec.GatewayPort:
		s.broker.request(spec.RequestRefused, to)
		return failed(unix.EPERM)
	}
	o.peer = raw
	return letProceed
}

func (s *Handler) giveSender(n *seccomp.Notification, o *socket, at uint64, size uint32) outcome {
	if errno := s.giveName(n, at, size, o.peer); errno != 0 {
		return failed(errno)
	}
	return letProceed
}

// nameDatagrams answers getsockname: c-ares gives a socket up that has no Internet address, and
// glibc ends the program.
func (s *Handler) nameDatagrams(n *seccomp.Notification, o *socket) outcome {
	const port = 32768 // any
	name := sys.Sockaddr(netip.AddrPortFrom(loopbackOf(o.family == unix.AF_INET), port))
	var room [4]byte
	errno := s.read(n, n.Args[2], room[:])
	if errno == 0 {
		errno = s.giveName(n, n.Args[1], binary.NativeEndian.Uint32(room[:]), name)
	}
	if errno == 0 {
		errno = s.write(n, n.Args[2], binary.NativeEndian.AppendUint32(nil, uint32(len(name))))
	}
	return failed(errno)
}

// address copies a socket address from the caller's memory, once (TOCTOU). The address is not valid
// if its family is AF_UNSPEC, which stands for none.
func (s *Handler) address(n *seccomp.Notification, o *socket, at, size uint64) (raw []byte, to netip.AddrPort, errno syscall.Errno) {
	length := int(int32(size))
	if length < 2 || length > unix.SizeofSockaddrAny+16 { // struct sockaddr_storage
		return nil, to, unix.EINVAL
	}
	raw = make([]byte, length)
	if errno := s.read(n, at, raw); errno != 0 {
		return nil, to, errno
	}
	family := int(binary.NativeEndian.Uint16(raw))
	to, ok := sys.ParseSockaddr(raw)
	switch {
	case family == unix.AF_UNSPEC:
		return raw, to, 0
	case family != o.family:
		return nil, to, unix.EAFNOSUPPORT
	case !ok:
		return nil, to, unix.EINVAL
	}
	return raw, to, 0
}

// read fills into with memory of the caller. If it can read a part only, it fails.
func (s *Handler) read(n *seccomp.Notification, at uint64, into []byte) syscall.Errno {
	switch got, errno := sys.ReadMemory(int(n.Tid), at, into); {
	case errno != 0:
		return errno
	case got < len(into):
		return unix.EFAULT
	case !s.listener.Valid(n.Id): // the thread ID may belong to another process by now
		return unix.ESRCH
	}
	return 0
}

// write writes to memory of the caller.
func (s *Handler) write(n *seccomp.Notification, at uint64, b []byte) syscall.Errno {
	// The descriptor stays with this process, also when the thread ID is in use again by another one.
	m, err := unix.Open("/proc/"+strconv.Itoa(int(n.Tid))+"/mem", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.EFAULT
	}
	defer unix.Close(m)
	if !s.listener.Valid(n.Id) {
		return unix.ESRCH
	}
	if done, err := unix.Pwrite(m, b, int64(at)); err != nil || done < len(b) {
		return unix.EFAULT
	}
	return 0
}

// giveName writes a socket address into a buffer of the caller, which has room for size bytes.
func (s *Handler) giveName(n *seccomp.Notification, at uint64, size uint32, name []byte) syscall.Errno {
	if at == 0 || int32(size) <= 0 {
		return 0
	}
	return s.write(n, at, name[:min(int(size), len(name))])
}
