// Package sockets answers the socket calls of a server whose jail has no network namespace.
//
// It makes the server's TCP and UDP sockets, and keeps a list of them. It answers connect and bind by its
// own copy of the address. The kernel never performs these two calls with arguments of the server.
//
//   - A TCP socket is bound to the interface lo (only CAP_NET_RAW can undo that), and Landlock refuses
//     connect and bind by the server itself (from ABI 4 on). The handler keeps a descriptor of it until
//     it is connected. To connect it, the handler opens a listener for this one connection and passes the
//     accepted end to the launcher's gateway.
//   - A UDP socket is one end of a pair of UNIX sockets, and carries DNS only: see udp_linux.go.
//
// All other calls continue in the kernel, so a program sees that its TCP connection is one over lo, and
// that its UDP socket is a UNIX socket.
//
// The number of its inode tells which socket a call is about. The caller may replace the descriptor
// meanwhile. That does no harm: the handler then acts on another socket that it made for this server, and
// the launcher has permitted the address.
//
// The receiver of package mediator passes each notification to Handler.Handle. Its thread is outside the
// server's Landlock domain. The package touches sockets that it made, the memory of the callers, and no file.
//
// Limits: the server cannot listen. A TCP socket must be connected before maxSockets others are made. A
// connect can hold up the receiver for twice joinTimeout.
package sockets

import (
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// Handler answers the socket calls of one server.
type Handler struct {
	listener *seccomp.Listener
	calls    map[uint32]string
	broker   brokerClient
	made     []*socket // the one used last is at the end
}

// socket is a socket that the handler made. The handler does not see the server close it.
type socket struct {
	inode  uint64
	family int
	fd     int    // of a TCP socket that is not connected; -1 for UDP
	peer   []byte // UDP: struct sockaddr of whom the server asked last, as it passed it
}

// maxSockets is how many sockets the handler knows: those that were used last.
const maxSockets = 512

// New returns a handler that asks the broker at the other end of channel. It calls end, which
// ends the jail, when the launcher does not answer.
func New(l *seccomp.Listener, end func(), channel int) *Handler {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	return &Handler{listener: l, calls: seccomp.SocketCallsByNumber(arch), broker: brokerClient{channel, end}}
}

// outcome is the answer to a call.
type outcome struct {
	errno   syscall.Errno // 0: the call returns 0
	proceed bool          // the kernel performs the call
	done    bool          // the call is answered already
}

func failed(errno syscall.Errno) outcome { return outcome{errno: errno} }

var letProceed = outcome{proceed: true}

// Handle answers a call about sockets, and reports whether this is one.
func (s *Handler) Handle(n *seccomp.Notification) bool {
	call, ok := s.calls[uint32(n.Nr)]
	if !ok {
		return false
	}
	switch reply := s.perform(n, call); {
	case reply.done:
	case reply.proceed:
		s.listener.Continue(n.Id)
	default:
		s.listener.Send(seccomp.Response{Id: n.Id, Errno: -int32(reply.errno)})
	}
	return true
}

func (s *Handler) perform(n *seccomp.Notification, call string) outcome {
	if call == "socket" {
		return s.make(n)
	}
	inode, errno := s.inode(n)
	if errno != 0 && (call == "connect" || call == "bind") {
		return failed(errno)
	}
	o := s.find(inode) // nil after an error: no other call does harm
	switch {
	case call == "bind" && o != nil:
		return failed(s.bind(n, o))
	case o != nil && o.fd < 0:
		return s.datagram(n, call, o)
	case call == "connect" && o != nil:
		return failed(s.connect(n, o))
	// The rest are TCP sockets that are connected, and ends of pairs of UNIX sockets.
	case call == "connect":
		return failed(unix.EISCONN)
	case call == "bind":
		return failed(unix.EINVAL)
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
		return failed(sys.ErrnoOrEIO(err))
	}
	if err = sys.BindToLoopback(fd); err == nil {
		err = s.add(fd, &socket{family: family, fd: fd})
	}
	if err != nil {
		unix.Close(fd)
		return failed(sys.ErrnoOrEIO(err))
	}
	s.listener.AddFD(n.Id, fd, flags&unix.SOCK_CLOEXEC != 0)
	return outcome{done: true}
}

// add adds the socket that fd is to the list. A TCP socket's o.fd then belongs to the list.
func (s *Handler) add(fd int, o *socket) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	s.drop(st.Ino)
	if len(s.made) == maxSockets {
		s.drop(s.made[0].inode)
	}
	o.inode = st.Ino
	s.made = append(s.made, o)
	return nil
}

// find returns a socket of the list, or nil.
func (s *Handler) find(inode uint64) *socket {
	at := s.index(inode)
	if at < 0 {
		return nil
	}
	o := s.made[at]
	s.made = append(slices.Delete(s.made, at, at+1), o)
	return o
}

func (s *Handler) drop(inode uint64) {
	if at := s.index(inode); at >= 0 {
		if fd := s.made[at].fd; fd >= 0 {
			unix.Close(fd)
		}
		s.made = slices.Delete(s.made, at, at+1)
	}
}

func (s *Handler) index(inode uint64) int {
	return slices.IndexFunc(s.made, func(o *socket) bool { return o.inode == inode })
}

// inode returns the inode of the socket that a call is about.
func (s *Handler) inode(n *seccomp.Notification) (inode uint64, errno syscall.Errno) {
	var room [64]byte
	name := sys.ThreadFile(int(n.Tid), "fd/"+strconv.Itoa(int(int32(n.Args[0]))))
	size, err := unix.Readlinkat(sys.DirFD, name, room[:])
	switch {
	case !s.listener.Valid(n.Id): // the thread ID may belong to another process by now
		return 0, unix.ESRCH
	case err == unix.ENOENT:
		return 0, unix.EBADF
	case err != nil:
		return 0, sys.ErrnoOrEIO(err)
	}
	number, is := strings.CutPrefix(string(room[:size]), "socket:[")
	inode, err = strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	if !is || err != nil {
		return 0, unix.ENOTSOCK
	}
	return inode, 0
}

// bind accepts port 0 without an effect: the kernel chooses the address in connect.
func (s *Handler) bind(n *seccomp.Notification, o *socket) syscall.Errno {
	_, to, errno := s.address(n, o, n.Args[1], n.Args[2])
	if errno == 0 && to.Port() != 0 {
		return unix.EACCES // as Landlock answers: no server can listen here
	}
	return errno
}

// brokerClient asks the network broker in the launcher. Only the receiver's thread uses it.
type brokerClient struct {
	socket int
	end    func() // ends the jail, when the launcher does not answer
}

// request makes a request, and passes descriptors with it. It returns the answer.
func (b *brokerClient) request(kind byte, to netip.AddrPort, fds ...int) (yes bool) {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	err := unix.Sendmsg(b.socket, spec.BrokerRequest{Kind: kind, To: to}.Encode(), rights, nil, unix.MSG_NOSIGNAL)
	var answer [1]byte
	n := 0
	if err == nil {
		n, err = unix.Read(b.socket, answer[:])
		for err == unix.EINTR {
			n, err = unix.Read(b.socket, answer[:])
		}
	}
	if err != nil || n != 1 {
		b.end()
		return false
	}
	return answer[0] == spec.AnswerYes
}
