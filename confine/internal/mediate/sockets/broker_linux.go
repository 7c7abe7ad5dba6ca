package sockets

import (
	"net/netip"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"golang.org/x/sys/unix"
)

// An asker is the init's side. Only one thread uses it.
type brokerClient struct {
	socket int
	end    func() // of the jail: there is no launcher any more
}

// request returns what the launcher says to it.
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

// pass hands a descriptor over.
func (a *brokerClient) pass(kind byte, to netip.AddrPort, fd int) error {
	return unix.Sendmsg(a.socket, spec.BrokerRequest{Kind: kind, To: to}.Encode(), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
}
