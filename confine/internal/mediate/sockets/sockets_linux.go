// Package sockets answers a server's socket calls if the jail has no network namespace.
//
// The mediator makes the server's TCP and UDP sockets. It answers connect and bind by its own
// copy of the address, and connects a duplicate of the socket (kept_linux.go says how where it cannot take
// one). The kernel never performs these
// two calls with arguments of the server. A send on a UDP socket continues in the kernel, which
// ignores the address there.
//
//   - A TCP socket is bound to the interface lo (only CAP_NET_RAW can undo that), and Landlock
//     refuses connect and bind by the server itself (from ABI 4 on). To connect the socket, the
//     mediator opens a listener for this one connection and passes the accepted end to the
//     launcher's gateway.
//   - A UDP socket is one end of a pair of UNIX sockets: see udp_linux.go and receive_linux.go.
//
// Some calls are mediated only to answer as a real socket would (getsockname, getpeername,
// getsockopt). For other sockets, such as a pair of UNIX sockets, they continue in the kernel.
// The caller may replace the descriptor meanwhile. That does no harm, because no socket of the
// caller leads to the network.
//
// The caller is package mediate, which passes a notification to Handler.Handle.
//
// Threads: Handle runs on the receiver's thread, which is outside the server's Landlock
// domain. A receive that must wait continues in a goroutine (receiving.retry). Locks:
// Handler.turn, which admits one such goroutine at a time, is taken before socketState.mu.
//
// Limits: the server cannot listen. UDP carries DNS only. recvmmsg returns one message.
// The handler forgets a socket that is not used for long, while recentSockets others are: its
// getpeername then shows the internal address. A connect can hold up the receiver for twice
// joinTimeout.
package sockets

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// Handler answers the socket calls of one jail.
type Handler struct {
	Listener      *seccomp.Listener
	broker        brokerClient
	Calls         map[uint32]string
	known         socketTable
	keeps         bool // it may not duplicate the server's sockets
	streams       keptSockets
	datagrams     keptSockets
	turn          sync.Mutex // held by the one goroutine that retries a receive
	noThreadPidfd bool       // the kernel has no pidfds of threads (before Linux 6.9)
}

// New returns a handler that asks the broker at the other end of channel. It calls end, which
// ends the jail, when the launcher does not answer.
func New(l *seccomp.Listener, end func(), channel int) *Handler {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	return &Handler{
		Listener: l, broker: brokerClient{channel, end}, Calls: seccomp.SocketCallsByNumber(arch),
		keeps: !sys.GetsDescriptors(), streams: keptSockets{limit: keptStreams}, datagrams: keptSockets{limit: keptDatagrams},
	}
}

// outcome is the answer to a call.
type outcome struct {
	val     int64
	errno   syscall.Errno
	proceed bool // the kernel performs the call
	done    bool // the call is answered elsewhere
}

func failed(errno syscall.Errno) outcome { return outcome{errno: errno} }

var letProceed = outcome{proceed: true}

// Handle answers one call.
func (s *Handler) Handle(n *seccomp.Notification, call string) {
	switch reply := s.perform(n, call); {
	case reply.done:
	case reply.proceed:
		s.Listener.Continue(n.Id)
	default:
		s.Listener.Send(seccomp.Response{Id: n.Id, Val: reply.val, Errno: -int32(reply.errno)})
	}
}

func (s *Handler) perform(n *seccomp.Notification, call string) outcome {
	if call == "socket" {
		return s.make(n)
	}
	fd, o, errno := s.find(n)
	if errno != 0 {
		return failed(errno)
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if o.state.datagrams() {
		return s.datagram(n, call, fd, o.state)
	}
	inet := o.family == unix.AF_INET || o.family == unix.AF_INET6
	switch {
	case call == "connect" && inet && fd < 0:
		return o.state.connectAgain()
	case call == "connect" && inet:
		return s.connect(n, fd, o)
	case call == "connect":
		return failed(unix.EISCONN) // a UNIX socket of the server is one of a pair, so it is connected
	case call == "bind" && inet:
		_, errno := s.bind(n)
		return failed(errno)
	case call == "bind":
		return failed(unix.EINVAL)
	case call == "getpeername" && o.state != nil && o.state.peer != nil:
		if _, err := unix.Getpeername(fd); fd >= 0 && err != nil {
			return failed(step.ErrnoOrEIO(err))
		}
		return s.giveName(n, n.Args[1], n.Args[2], o.state.peer)
	}
	return letProceed
}

// make makes a socket. The seccomp filter admits the permitted kinds only.
func (s *Handler) make(n *seccomp.Notification) outcome {
	family, kind, proto := int(int32(n.Args[0])), int(int32(n.Args[1])), int(int32(n.Args[2]))
	flags := kind & (unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC)
	if kind&^flags == unix.SOCK_DGRAM {
		return s.makeDatagrams(n, family, flags)
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return failed(step.ErrnoOrEIO(err))
	}
	defer unix.Close(fd)
	if err := sys.BindToLoopback(fd); err != nil {
		return failed(step.ErrnoOrEIO(err))
	}
	if s.keeps {
		inode, errno := s.streams.keep(fd)
		if errno != 0 {
			return failed(errno)
		}
		s.known.put(inode, &socketState{family: family})
	}
	s.Listener.AddFD(n.Id, fd, flags&unix.SOCK_CLOEXEC != 0)
	return outcome{done: true}
}

// find returns a descriptor of the socket that a call is about, and what is known of it.
func (s *Handler) find(n *seccomp.Notification) (fd int, o object, errno syscall.Errno) {
	if s.keeps {
		return s.findKept(n)
	}
	if fd, errno = s.duplicate(n); errno != 0 {
		return -1, o, errno
	}
	if o, errno = s.identify(fd); errno != 0 {
		unix.Close(fd)
		return -1, o, errno
	}
	return fd, o, 0
}

// pidfdThread is PIDFD_THREAD.
const pidfdThread = unix.O_EXCL

func (s *Handler) duplicate(n *seccomp.Notification) (fd int, errno syscall.Errno) {
	pidfd, err := -1, error(unix.EINVAL)
	if !s.noThreadPidfd {
		pidfd, err = unix.PidfdOpen(int(n.Tid), pidfdThread)
	}
	if err == unix.EINVAL {
		// A thread that has unshared its descriptor table (CLONE_FILES) gets the socket of its
		// thread group leader.
		s.noThreadPidfd = true
		tgid, _, errno := proc.ThreadStatus(int(n.Tid))
		if errno != 0 {
			return -1, errno
		}
		pidfd, err = unix.PidfdOpen(tgid, 0)
	}
	if err != nil {
		return -1, step.ErrnoOrEIO(err)
	}
	defer unix.Close(pidfd)
	// The call still waits, so the thread ID was the caller's when the pidfd was opened.
	if !s.Listener.Valid(n.Id) {
		return -1, unix.ESRCH
	}
	fd, err = unix.PidfdGetfd(pidfd, int(int32(n.Args[0])), 0)
	return fd, step.ErrnoOrEIO(err)
}

// object is a descriptor of the server, as the kernel and the table describe it.
type object struct {
	family int
	id     uint64       // its cookie (SO_COOKIE), or its inode if it is found by that
	state  *socketState // nil for a socket that the table does not have
}

func (s *Handler) identify(fd int) (o object, errno syscall.Errno) {
	var err error
	if o.family, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return o, step.ErrnoOrEIO(err) // ENOTSOCK
	}
	o.id, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	o.state = s.known.get(o.id)
	return o, step.ErrnoOrEIO(err)
}

// bind returns the address of a bind call, and accepts port 0 without an effect: the kernel chooses the address in connect.
func (s *Handler) bind(n *seccomp.Notification) (at netip.AddrPort, errno syscall.Errno) {
	raw, errno := s.address(n, n.Args[1], n.Args[2])
	if errno != 0 {
		return at, errno
	}
	at, ok := sys.ParseSockaddr(raw)
	switch {
	case !ok:
		return at, unix.EINVAL
	case at.Port() != 0:
		return at, unix.EACCES // as Landlock answers: no server can listen here
	}
	return at, 0
}

// address copies a socket address from the caller's memory, once (TOCTOU).
func (s *Handler) address(n *seccomp.Notification, at, size uint64) (raw []byte, errno syscall.Errno) {
	length := int(int32(size))
	if length < 2 || length > unix.SizeofSockaddrAny+16 { // struct sockaddr_storage
		return nil, unix.EINVAL
	}
	raw = make([]byte, length)
	return raw, s.read(n, at, raw)
}

// read fills into with memory of the caller. If it can read a part only, it fails.
func (s *Handler) read(n *seccomp.Notification, at uint64, into []byte) syscall.Errno {
	switch got, errno := proc.ReadMemory(int(n.Tid), at, into); {
	case errno != 0:
		return errno
	case got < len(into):
		return unix.EFAULT
	case !s.Listener.Valid(n.Id): // the thread ID may belong to another process by now
		return unix.ESRCH
	}
	return 0
}

// giveName writes an address as getpeername(2) does: at is the caller's buffer, and size
// points to the buffer's length.
func (s *Handler) giveName(n *seccomp.Notification, at, size uint64, name []byte) outcome {
	m, errno := s.memory(n)
	if errno != 0 {
		return failed(errno)
	}
	defer unix.Close(m)
	return failed(putName(m, at, size, name))
}

func putName(m int, at, size uint64, name []byte) syscall.Errno {
	var room [4]byte
	if n, err := unix.Pread(m, room[:], int64(size)); err != nil || n < len(room) {
		return unix.EFAULT
	}
	length := int(int32(binary.NativeEndian.Uint32(room[:])))
	if length < 0 {
		return unix.EINVAL
	}
	binary.NativeEndian.PutUint32(room[:], uint32(len(name)))
	if errno := put(m, at, name[:min(length, len(name))]); errno != 0 {
		return errno
	}
	return put(m, size, room[:])
}

func put(m int, at uint64, b []byte) syscall.Errno {
	if len(b) == 0 {
		return 0
	}
	if n, err := unix.Pwrite(m, b, int64(at)); err != nil || n < len(b) {
		return unix.EFAULT
	}
	return 0
}

// memory opens the caller's memory. The descriptor stays with this process, also when the
// thread ID is in use again by another one.
func (s *Handler) memory(n *seccomp.Notification) (fd int, errno syscall.Errno) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(int(n.Tid))+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.EFAULT
	}
	if !s.Listener.Valid(n.Id) {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, 0
}

// connectRaw calls connect(2) once. It does not retry after EINTR.
func connectRaw(fd int, raw []byte) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	runtime.KeepAlive(raw)
	return errno
}

// brokerClient asks the network broker in the launcher. Only the receiver's thread uses it.
type brokerClient struct {
	socket int
	end    func() // ends the jail, when the launcher does not answer
}

func (a *brokerClient) request(kind byte, to netip.AddrPort) (yes bool) {
	var b [1]byte
	if err := unix.Sendto(a.socket, spec.BrokerRequest{Kind: kind, To: to}.Encode(), unix.MSG_NOSIGNAL, nil); err == nil {
		for {
			n, err := unix.Read(a.socket, b[:])
			if err == unix.EINTR {
				continue
			}
			if err == nil && n == 1 {
				return b[0] == spec.AnswerYes
			}
			break
		}
	}
	a.end()
	return false
}

func (a *brokerClient) pass(kind byte, to netip.AddrPort, fd int) error {
	return unix.Sendmsg(a.socket, spec.BrokerRequest{Kind: kind, To: to}.Encode(), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
}
