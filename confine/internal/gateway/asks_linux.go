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
type Asks struct {
	socket  *os.File // SOCK_SEQPACKET
	gate    *egress.Gateway
	running sync.WaitGroup
}

func NewAsks(socket *os.File, gate *egress.Gateway) *Asks {
	a := &Asks{socket: socket, gate: gate}
	a.running.Go(a.serve)
	return a
}

// close is for when the init has ended.
func (a *Asks) Close() {
	unix.Shutdown(int(a.socket.Fd()), unix.SHUT_RDWR)
	a.running.Wait()
	a.socket.Close()
}

// serve has a thread to itself: whoever asks is kept waiting, and the runtime's poller
// would be one more thread to be woken.
func (a *Asks) serve() {
	fd := int(a.socket.Fd())
	defer unix.Shutdown(fd, unix.SHUT_RDWR) // whoever asks then is told so
	b, rights := make([]byte, spec.MaxAsk), make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(fd, b, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		fds, _ := sys.ParseRights(rights[:size])
		said, err := spec.DecodeAsk(b[:n])
		if err != nil || len(fds) > 1 {
			return // no init of ours: what it asks for from here on is refused
		}
		switch {
		case len(fds) == 1:
			a.take(said, os.NewFile(uintptr(fds[0]), "socket of the jail"))
		case said.Kind == spec.AskConnect || said.Kind == spec.AskRefused:
			unix.Write(fd, []byte{a.judge(said)})
		}
	}
}

// judge decides, and has on record what is refused before the server can know of it.
func (a *Asks) judge(said spec.Ask) byte {
	switch {
	case said.Kind == spec.AskRefused:
		a.gate.Refuse("udp", said.To)
	case a.gate.Allowed("tcp", said.To):
		return spec.SaidYes
	default:
		a.gate.Refuse("tcp", said.To)
	}
	return spec.SaidNo
}

// take has the gate serve a socket.
func (a *Asks) take(said spec.Ask, f *os.File) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return
	}
	switch conn := c.(type) {
	case *net.TCPConn:
		if said.Kind == spec.TellConnected {
			a.gate.Accept(conn, said.To)
			return
		}
	case *net.UnixConn:
		if said.Kind == spec.TellDatagrams {
			a.gate.ServeSeqpacket(conn)
			return
		}
	}
	c.Close()
}
