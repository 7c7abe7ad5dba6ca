package confine

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

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
type sockets struct {
	listener *listener
	asker    asker
	calls    map[uint32]string
	known    knownSockets
	turn     sync.Mutex // of those that wait for a datagram
	old      bool       // the kernel has no pidfd of threads (before Linux 6.9)
}

func newSockets(l *listener, end func(), channel int) *sockets {
	arch, _ := archOf(runtime.GOARCH)
	return &sockets{listener: l, asker: asker{channel, end}, calls: socketsByNumber(arch)}
}

// A socketReply answers a call.
type socketReply struct {
	val     int64
	errno   syscall.Errno
	proceed bool // the kernel carries it out
	done    bool // it was answered already, or will be
}

func failed(errno syscall.Errno) socketReply { return socketReply{errno: errno} }

var proceeds = socketReply{proceed: true}

// take answers one call.
func (s *sockets) take(n *notification, call string) {
	switch reply := s.carryOut(n, call); {
	case reply.done:
	case reply.proceed:
		s.listener.proceed(n.id)
	default:
		s.listener.send(answer{id: n.id, val: reply.val, errno: -int32(reply.errno)})
	}
}

func (s *sockets) carryOut(n *notification, call string) socketReply {
	if call == "socket" {
		return s.make(n)
	}
	fd, errno := s.duplicate(n)
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
			return failed(asErrno(err))
		}
		return s.giveName(n, n.args[1], n.args[2], o.state.peer)
	}
	return proceeds
}

// make makes a socket; which there may be, the filter has decided.
func (s *sockets) make(n *notification) socketReply {
	family, kind, proto := int(int32(n.args[0])), int(int32(n.args[1])), int(int32(n.args[2]))
	flags := kind & (unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC)
	if kind&^flags == unix.SOCK_DGRAM {
		return s.makeDatagrams(n, family, flags)
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return failed(asErrno(err))
	}
	defer unix.Close(fd)
	if err := bindToLo(fd); err != nil {
		return failed(asErrno(err))
	}
	s.listener.hand(n.id, fd, flags&unix.SOCK_CLOEXEC != 0)
	return socketReply{done: true}
}

// soBindToIfindex is SO_BINDTOIFINDEX; lo has the same index in every network namespace.
const soBindToIfindex = 62

func bindToLo(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, soBindToIfindex, loIndex)
}

// pidfdThread is PIDFD_THREAD.
const pidfdThread = unix.O_EXCL

// duplicate returns the socket that a call is about: its first argument, as a
// descriptor of ours.
func (s *sockets) duplicate(n *notification) (fd int, errno syscall.Errno) {
	pidfd, err := -1, error(unix.EINVAL)
	if !s.old {
		pidfd, err = unix.PidfdOpen(int(n.tid), pidfdThread)
	}
	if err == unix.EINVAL {
		// Its process has the same descriptors, unless it has unshared them; then it gets
		// what its own leader's number means.
		s.old = true
		tgid, _, errno := statusOf(int(n.tid))
		if errno != 0 {
			return -1, errno
		}
		pidfd, err = unix.PidfdOpen(tgid, 0)
	}
	if err != nil {
		return -1, asErrno(err)
	}
	defer unix.Close(pidfd)
	// It is still the same thread, and so was the number.
	if !s.listener.valid(n.id) {
		return -1, unix.ESRCH
	}
	fd, err = unix.PidfdGetfd(pidfd, int(int32(n.args[0])), 0)
	return fd, asErrno(err)
}

// An object is what a descriptor turned out to be.
type object struct {
	family int
	cookie uint64
	state  *socketState // of a socket that is known
}

func (s *sockets) identify(fd int) (o object, errno syscall.Errno) {
	var err error
	if o.family, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return o, asErrno(err) // ENOTSOCK
	}
	o.cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	o.state = s.known.get(o.cookie)
	return o, asErrno(err)
}

// bind lets the kernel choose, which it does when the socket is connected.
func (s *sockets) bind(n *notification) socketReply {
	raw, errno := s.address(n, n.args[1], n.args[2])
	if errno != 0 {
		return failed(errno)
	}
	at, ok := endpoint(raw)
	switch {
	case !ok:
		return failed(unix.EINVAL)
	case at.Port() != 0:
		return failed(unix.EACCES) // as by Landlock: nothing can listen here
	}
	return socketReply{}
}

// address copies a socket address out of the caller, once.
func (s *sockets) address(n *notification, at, size uint64) (raw []byte, errno syscall.Errno) {
	length := int(int32(size))
	if length < 2 || length > unix.SizeofSockaddrAny+16 { // struct sockaddr_storage
		return nil, unix.EINVAL
	}
	raw = make([]byte, length)
	return raw, s.read(n, at, raw)
}

// read copies memory of the caller, all of it.
func (s *sockets) read(n *notification, at uint64, into []byte) syscall.Errno {
	switch got, errno := readMemory(int(n.tid), at, into); {
	case errno != 0:
		return errno
	case got < len(into):
		return unix.EFAULT
	case !s.listener.valid(n.id): // else it may have been somebody else's
		return unix.ESRCH
	}
	return 0
}

// giveName is what getpeername and its like do with an address: at is where the caller
// wants it, and size where it says how much room is there.
func (s *sockets) giveName(n *notification, at, size uint64, name []byte) socketReply {
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

// memory opens the caller's memory. What is written to it then cannot reach another
// process that has the thread's number by then.
func (s *sockets) memory(n *notification) (fd int, errno syscall.Errno) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(int(n.tid))+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.EFAULT
	}
	if !s.listener.valid(n.id) {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, 0
}

// sockaddr is struct sockaddr_in or sockaddr_in6 of an address.
func sockaddr(to netip.AddrPort) []byte {
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

// connectRaw is connect(2), once: after a signal there is nothing to be tried again.
func connectRaw(fd int, raw []byte) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	runtime.KeepAlive(raw)
	return errno
}

// nameOf is getsockname(2) or getpeername(2), of sockets of the network.
func nameOf(sa unix.Sockaddr, err error) (netip.AddrPort, bool) {
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
