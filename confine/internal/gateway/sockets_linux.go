package gateway

import (
	"net"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// passed holds the sockets that a jail passes to the launcher.
type passed struct {
	egress.Sockets
	inbound []*os.File // unused sockets for inbound
	broker  *os.File   // the socket for a broker, or nil
}

// receiveAll receives sockets until spec.SocketsEnd. all is false if the jail ended before.
func (s *passed) receiveAll(control *os.File) (all bool, err error) {
	for {
		if kind, err := s.receive(control); err != nil || kind == 0 || kind == spec.SocketsEnd {
			return kind == spec.SocketsEnd, err
		}
	}
}

// receive reads one message and returns the last kind in it, or 0 at the end of the stream.
// The kernel does not merge messages that carry descriptors.
func (s *passed) receive(control *os.File) (last byte, err error) {
	kinds, rights := make([]byte, spec.MaxSockets), make([]byte, unix.CmsgSpace(4*spec.MaxSockets))
	n, size, flags, _, err := unix.Recvmsg(int(control.Fd()), kinds, rights, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, size, flags, _, err = unix.Recvmsg(int(control.Fd()), kinds, rights, unix.MSG_CMSG_CLOEXEC)
	}
	switch {
	case err == unix.ECONNRESET:
		return 0, nil
	case err != nil || n == 0:
		return 0, err
	}
	fds, err := sys.ParseRights(rights[:size])
	// After an error the rest is closed too: all of them are open in this process already.
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket of the jail")
		if err == nil && i < n {
			err = s.add(kinds[i], f)
		}
		if err != nil || kinds[i] != spec.SocketPackets && kinds[i] != spec.SocketInbound && kinds[i] != spec.SocketBroker {
			f.Close()
		}
	}
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = unix.EMFILE
	}
	return kinds[n-1], err
}

// add stores f by its kind. Package net duplicates the descriptors of listeners and of DNS, so
// the caller closes f for those kinds.
func (s *passed) add(kind byte, f *os.File) error {
	switch kind {
	case spec.SocketDNS:
		c, err := net.FilePacketConn(f)
		if err != nil {
			return err
		}
		s.DNS = c.(*net.UDPConn)
	case spec.SocketDNSTCP, spec.SocketTCP:
		l, err := net.FileListener(f)
		if err != nil {
			return err
		}
		if kind == spec.SocketDNSTCP {
			s.DNSTCP = l.(*net.TCPListener)
			return nil
		}
		s.TCP = append(s.TCP, l.(*net.TCPListener))
	case spec.SocketPackets:
		s.Refused = f
	case spec.SocketInbound:
		s.inbound = append(s.inbound, f)
	case spec.SocketBroker:
		s.broker = f
	default:
		return spec.ErrSpec
	}
	return nil
}

// close closes all sockets.
func (s *passed) close() {
	if s.DNS != nil {
		s.DNS.Close()
	}
	if s.DNSTCP != nil {
		s.DNSTCP.Close()
	}
	for _, l := range s.TCP {
		l.Close()
	}
	if s.Refused != nil {
		s.Refused.Close()
	}
	for _, f := range s.inbound {
		f.Close()
	}
	if s.broker != nil {
		s.broker.Close()
	}
}
