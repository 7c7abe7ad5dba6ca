package sockets

import (
	"net/netip"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"golang.org/x/sys/unix"
)

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
