package confine

import (
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
)

// asks is the launcher's side of a jail whose init makes the server's sockets: the
// gate is here, and what the init says on its socket is put to it. A connection of the
// server arrives as a descriptor, the other end of one that the init has made itself,
// so nobody else's can be taken for it.
type asks struct {
	socket  *os.File // SOCK_SEQPACKET
	gate    *egress.Gateway
	running sync.WaitGroup
}

func newAsks(socket *os.File, gate *egress.Gateway) *asks {
	a := &asks{socket: socket, gate: gate}
	a.running.Go(a.serve)
	return a
}

// close is for when the init has ended.
func (a *asks) close() {
	unix.Shutdown(int(a.socket.Fd()), unix.SHUT_RDWR)
	a.running.Wait()
	a.socket.Close()
}

// serve has a thread to itself: whoever asks is kept waiting, and the runtime's poller
// would be one more thread to be woken.
func (a *asks) serve() {
	fd := int(a.socket.Fd())
	defer unix.Shutdown(fd, unix.SHUT_RDWR) // whoever asks then is told so
	b, rights := make([]byte, maxAsk), make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(fd, b, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		fds, _ := descriptors(rights[:size])
		said, err := decodeAsk(b[:n])
		if err != nil || len(fds) > 1 {
			return // no init of ours: what it asks for from here on is refused
		}
		switch {
		case len(fds) == 1:
			a.take(said, os.NewFile(uintptr(fds[0]), "socket of the jail"))
		case said.kind == askConnect || said.kind == askRefused:
			unix.Write(fd, []byte{a.judge(said)})
		}
	}
}

// judge decides, and has on record what is refused before the server can know of it.
func (a *asks) judge(said ask) byte {
	switch {
	case said.kind == askRefused:
		a.gate.Refuse("udp", said.to)
	case a.gate.Allowed("tcp", said.to):
		return saidYes
	default:
		a.gate.Refuse("tcp", said.to)
	}
	return saidNo
}

// take has the gate serve a socket.
func (a *asks) take(said ask, f *os.File) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return
	}
	switch conn := c.(type) {
	case *net.TCPConn:
		if said.kind == tellConnected {
			a.gate.Accept(conn, said.to)
			return
		}
	case *net.UnixConn:
		if said.kind == tellDatagrams {
			a.gate.ServeSeqpacket(conn)
			return
		}
	}
	c.Close()
}

// An asker is the init's side. Only one thread uses it.
type asker struct {
	socket int
	end    func() // of the jail: there is no launcher any more
}

// ask returns what the launcher says to it.
func (a *asker) ask(kind byte, to netip.AddrPort) (yes bool) {
	var b [1]byte
	if err := unix.Sendto(a.socket, ask{kind, to}.encode(), unix.MSG_NOSIGNAL, nil); err == nil {
		for {
			n, err := unix.Read(a.socket, b[:])
			if err == unix.EINTR {
				continue
			}
			if err == nil && n == 1 {
				return b[0] == saidYes
			}
			break
		}
	}
	a.end()
	return false
}

// pass hands a descriptor over.
func (a *asker) pass(kind byte, to netip.AddrPort, fd int) error {
	return unix.Sendmsg(a.socket, ask{kind, to}.encode(), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
}
