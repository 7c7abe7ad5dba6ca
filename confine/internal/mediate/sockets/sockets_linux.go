package sockets

import (
	"encoding/binary"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// sockets are a server's TCP and UDP sockets where there is no network namespace. The
// supervisor makes them; connect, and all else that would name a peer, it does for the
// server, on a duplicate of the socket, with its own copy of the address. The
// calls never reach the kernel as the server made them.
//
//   - A TCP socket is bound to lo, which only CAP_NET_RAW undoes, and Landlock refuses
//     its own connect and bind (from ABI 4 on). What it gets connected to is a
//     listener of the supervisor's that lives for that one connection, whose other end
//     goes to the launcher.
//   - A UDP socket is no socket of the network at all: see datagrams_linux.go.
//
// Calls that only could tell a program of the difference go on where they are about
// something else, a pair of UNIX sockets for one. Whatever the caller makes of the
// descriptor meanwhile: there is nothing that such a call could reach.
//
// All of it happens on the receiver's thread, which is outside of the server's
// Landlock domain.
type Handler struct {
	Listener      *seccomp.Listener
	broker        brokerClient
	Calls         map[uint32]string
	known         socketTable
	turn          sync.Mutex // of those that wait for a datagram
	NoThreadPidfd bool       // the kernel has no pidfd of threads (before Linux 6.9)
}

func New(l *seccomp.Listener, end func(), channel int) *Handler {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	return &Handler{Listener: l, broker: brokerClient{channel, end}, Calls: seccomp.SocketCallsByNumber(arch)}
}

// A socketReply answers a call.
type outcome struct {
	val     int64
	errno   syscall.Errno
	proceed bool // the kernel carries it out
	done    bool // it was answered already, or will be
}

func failed(errno syscall.Errno) outcome { return outcome{errno: errno} }

var letProceed = outcome{proceed: true}

// take answers one call.
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
	fd, errno := s.Duplicate(n)
	if errno != 0 {
		return failed(errno)
	}
	defer unix.Close(fd)
	o, errno := s.identify(fd)
	if errno != 0 {
		return failed(errno)
	}
	if o.state.datagrams() {
		return s.datagram(n, call, fd, o.state)
	}
	inet := o.family == unix.AF_INET || o.family == unix.AF_INET6
	switch {
	case call == "connect" && inet:
		return s.connect(n, fd, o)
	case call == "connect":
		return failed(unix.EISCONN) // one of a pair: there are no others
	case call == "bind" && inet:
		return s.bind(n)
	case call == "bind":
		return failed(unix.EINVAL)
	case call == "getpeername" && o.state != nil:
		if _, err := unix.Getpeername(fd); err != nil {
			return failed(step.ErrnoOrEIO(err))
		}
		return s.giveName(n, n.Args[1], n.Args[2], o.state.peer)
	}
	return letProceed
}

// make makes a socket; which there may be, the filter has decided.
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
	s.Listener.AddFD(n.Id, fd, flags&unix.SOCK_CLOEXEC != 0)
	return outcome{done: true}
}

// pidfdThread is PIDFD_THREAD.
const PidfdThread = unix.O_EXCL

// duplicate returns the socket that a call is about: its first argument, as a
// descriptor of ours.
func (s *Handler) Duplicate(n *seccomp.Notification) (fd int, errno syscall.Errno) {
	pidfd, err := -1, error(unix.EINVAL)
	if !s.NoThreadPidfd {
		pidfd, err = unix.PidfdOpen(int(n.Tid), PidfdThread)
	}
	if err == unix.EINVAL {
		// Its process has the same descriptors, unless it has unshared them; then it gets
		// what its own leader's number means.
		s.NoThreadPidfd = true
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
	// It is still the same thread, and so was the number.
	if !s.Listener.Valid(n.Id) {
		return -1, unix.ESRCH
	}
	fd, err = unix.PidfdGetfd(pidfd, int(int32(n.Args[0])), 0)
	return fd, step.ErrnoOrEIO(err)
}

// An object is what a descriptor turned out to be.
type object struct {
	family int
	cookie uint64
	state  *SocketState // of a socket that is known
}

func (s *Handler) identify(fd int) (o object, errno syscall.Errno) {
	var err error
	if o.family, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return o, step.ErrnoOrEIO(err) // ENOTSOCK
	}
	o.cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	o.state = s.known.get(o.cookie)
	return o, step.ErrnoOrEIO(err)
}

// bind lets the kernel choose, which it does when the socket is connected.
func (s *Handler) bind(n *seccomp.Notification) outcome {
	raw, errno := s.address(n, n.Args[1], n.Args[2])
	if errno != 0 {
		return failed(errno)
	}
	at, ok := sys.ParseSockaddr(raw)
	switch {
	case !ok:
		return failed(unix.EINVAL)
	case at.Port() != 0:
		return failed(unix.EACCES) // as by Landlock: nothing can listen here
	}
	return outcome{}
}

// address copies a socket address out of the caller, once.
func (s *Handler) address(n *seccomp.Notification, at, size uint64) (raw []byte, errno syscall.Errno) {
	length := int(int32(size))
	if length < 2 || length > unix.SizeofSockaddrAny+16 { // struct sockaddr_storage
		return nil, unix.EINVAL
	}
	raw = make([]byte, length)
	return raw, s.Read(n, at, raw)
}

// read copies memory of the caller, all of it.
func (s *Handler) Read(n *seccomp.Notification, at uint64, into []byte) syscall.Errno {
	switch got, errno := proc.ReadMemory(int(n.Tid), at, into); {
	case errno != 0:
		return errno
	case got < len(into):
		return unix.EFAULT
	case !s.Listener.Valid(n.Id): // else it may have been somebody else's
		return unix.ESRCH
	}
	return 0
}

// giveName is what getpeername and its like do with an address: at is where the caller
// wants it, and size where it says how much room is there.
func (s *Handler) giveName(n *seccomp.Notification, at, size uint64, name []byte) outcome {
	m, errno := s.Memory(n)
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

// memory opens the caller's memory. What is written to it then cannot reach another
// process that has the thread's number by then.
func (s *Handler) Memory(n *seccomp.Notification) (fd int, errno syscall.Errno) {
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

// connectRaw is connect(2), once: after a signal there is nothing to be tried again.
func ConnectRaw(fd int, raw []byte) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	runtime.KeepAlive(raw)
	return errno
}
