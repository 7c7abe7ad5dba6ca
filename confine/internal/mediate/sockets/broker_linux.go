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
