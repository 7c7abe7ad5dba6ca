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

// broker is the launcher's end of a jail whose supervisor makes the server's sockets. It puts the
// supervisor's requests to the gateway. A connection of the server arrives as a descriptor. The
// supervisor itself made both ends of that connection, so it cannot be one of another process.
type broker struct {
	socket  *os.File // SOCK_SEQPACKET
	gateway *egress.Gateway
	running sync.WaitGroup
}

// newBroker starts to serve requests on the socket.
func newBroker(socket *os.File, gateway *egress.Gateway) *broker {
	b := &broker{socket: socket, gateway: gateway}
	b.running.Go(b.serve)
	return b
}

// close ends the broker. The supervisor must have ended.
func (b *broker) close() {
	unix.Shutdown(int(b.socket.Fd()), unix.SHUT_RDWR)
	b.running.Wait()
	b.socket.Close()
}

// serve answers requests until the supervisor ends. It blocks a thread, because the server waits
// for the answer and a wake-up by the runtime's poller would take longer.
func (b *broker) serve() {
	fd := int(b.socket.Fd())
	defer unix.Shutdown(fd, unix.SHUT_RDWR) // further requests then fail
	buf, rights := make([]byte, spec.MaxBrokerRequest), make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(fd, buf, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		fds, _ := sys.ParseRights(rights[:size])
		request, err := spec.DecodeBrokerRequest(buf[:n])
		if err != nil || len(fds) > 1 {
			return // the supervisor never sends this, so all further requests are refused
		}
		answer := byte(spec.AnswerNo)
		if len(fds) == 1 && b.accept(request, os.NewFile(uintptr(fds[0]), "socket of the jail")) || len(fds) == 0 && b.decide(request) {
			answer = spec.AnswerYes
		}
		unix.Write(fd, []byte{answer})
	}
}

// decide reports whether a connection is allowed. It records a refusal before the server can notice it.
func (b *broker) decide(request spec.BrokerRequest) bool {
	network := "udp"
	if request.Kind == spec.RequestConnect {
		network = "tcp"
		if b.gateway.Allowed(network, request.To) {
			return true
		}
	}
	b.gateway.Refuse(network, request.To)
	return false
}

// accept reports whether the gateway takes a socket over.
func (b *broker) accept(request spec.BrokerRequest, f *os.File) bool {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return false
	}
	switch conn := c.(type) {
	case *net.TCPConn:
		if request.Kind == spec.PassTCP {
			b.gateway.Accept(conn, request.To)
			return true
		}
	case *net.UnixConn:
		if request.Kind == spec.PassUDP {
			return b.gateway.ServeSeqpacket(conn)
		}
	}
	c.Close()
	return false
}
