package gateway

import (
	"net"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// deafTime is how long mcp-jail-tls may take to read that there is no jail any more.
const ReceiveTimeout = 200 * time.Millisecond

// handed is what the shim hands over.
type Passed struct {
	egress.Sockets
	Inbound []*os.File
	Broker  *os.File
}

// receiveAll takes sockets up to the shim's last word; all is false where that did
// not come.
func (s *Passed) ReceiveAll(control *os.File) (all bool, err error) {
	for {
		if kind, err := s.receive(control); err != nil || kind == 0 || kind == spec.SocketsEnd {
			return kind == spec.SocketsEnd, err
		}
	}
}

// receive takes what one message holds and returns the last kind in it, 0 at the end.
// The kernel keeps messages with descriptors apart from each other.
func (s *Passed) receive(control *os.File) (last byte, err error) {
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
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket of the jail")
		if err == nil && i < n {
			err = s.take(kinds[i], f)
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

// leaveToKernel keeps f open, and has a thread of the kernel close it once what is
// returned is closed, or this process has ended. Whoever closes a packet socket last
// waits for a grace period of RCU, some 10 ms.
//
// It lies in the queue of a socket that lies there itself: when nobody else has that
// any more, the kernel's collector takes all of it away (unix(7); on its own thread
// since Linux 6.9, before that whoever closes the socket waits after all).
func SetLinger(f *os.File) (sockets []int) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // then we wait
	}
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.Sendmsg(pair[1], []byte{0}, unix.UnixRights(pair[0], int(fd)), nil, 0) })
	}
	return pair[:]
}

// take makes f what its kind says. The package net takes a duplicate of what it knows.
func (s *Passed) take(kind byte, f *os.File) error {
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
		s.Inbound = append(s.Inbound, f)
	case spec.SocketBroker:
		s.Broker = f
	default:
		return spec.ErrSpec
	}
	return nil
}

func (s *Passed) Close() {
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
	for _, f := range s.Inbound {
		f.Close()
	}
	if s.Broker != nil {
		s.Broker.Close()
	}
}
