package gateway

import (
	"net"
	"os"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// asks is the launcher's side of a jail whose init makes the server's sockets: the
// gate is here, and what the init says on its socket is put to it. A connection of the
// server arrives as a descriptor, the other end of one that the init has made itself,
// so nobody else's can be taken for it.
type Broker struct {
	socket  *os.File // SOCK_SEQPACKET
	gateway *egress.Gateway
	running sync.WaitGroup
}

func NewBroker(socket *os.File, gate *egress.Gateway) *Broker {
	a := &Broker{socket: socket, gateway: gate}
	a.running.Go(a.serve)
	return a
}

// close is for when the init has ended.
func (a *Broker) Close() {
	unix.Shutdown(int(a.socket.Fd()), unix.SHUT_RDWR)
	a.running.Wait()
	a.socket.Close()
}

// serve has a thread to itself: whoever asks is kept waiting, and the runtime's poller
// would be one more thread to be woken.
func (a *Broker) serve() {
	fd := int(a.socket.Fd())
	defer unix.Shutdown(fd, unix.SHUT_RDWR) // whoever asks then is told so
	b, rights := make([]byte, spec.MaxBrokerRequest), make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(fd, b, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		fds, _ := sys.ParseRights(rights[:size])
		said, err := spec.DecodeBrokerRequest(b[:n])
		if err != nil || len(fds) > 1 {
			return // no init of ours: what it asks for from here on is refused
		}
		switch {
		case len(fds) == 1:
			a.take(said, os.NewFile(uintptr(fds[0]), "socket of the jail"))
		case said.Kind == spec.RequestConnect || said.Kind == spec.RequestRefused:
			unix.Write(fd, []byte{a.judge(said)})
		}
	}
}

// judge decides, and has on record what is refused before the server can know of it.
func (a *Broker) judge(said spec.BrokerRequest) byte {
	switch {
	case said.Kind == spec.RequestRefused:
		a.gateway.Refuse("udp", said.To)
	case a.gateway.Allowed("tcp", said.To):
		return spec.AnswerYes
	default:
		a.gateway.Refuse("tcp", said.To)
	}
	return spec.AnswerNo
}

// take has the gate serve a socket.
func (a *Broker) take(said spec.BrokerRequest, f *os.File) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return
	}
	switch conn := c.(type) {
	case *net.TCPConn:
		if said.Kind == spec.PassTCP {
			a.gateway.Accept(conn, said.To)
			return
		}
	case *net.UnixConn:
		if said.Kind == spec.PassUDP {
			a.gateway.ServeSeqpacket(conn)
			return
		}
	}
	c.Close()
}
