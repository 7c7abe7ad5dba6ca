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
const DeafTime = 200 * time.Millisecond

// handed is what the shim hands over.
type Handed struct {
	egress.Sockets
	Spares []*os.File
	Asks   *os.File
}

// receiveAll takes sockets up to the shim's last word; all is false where that did
// not come.
func (s *Handed) ReceiveAll(control *os.File) (all bool, err error) {
	for {
		if kind, err := s.receive(control); err != nil || kind == 0 || kind == spec.HandedAll {
			return kind == spec.HandedAll, err
		}
	}
}

// receive takes what one message holds and returns the last kind in it, 0 at the end.
// The kernel keeps messages with descriptors apart from each other.
func (s *Handed) receive(control *os.File) (last byte, err error) {
	kinds, rights := make([]byte, spec.MaxHanded), make([]byte, unix.CmsgSpace(4*spec.MaxHanded))
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
		if err != nil || kinds[i] != spec.HandedRefused && kinds[i] != spec.HandedSpare && kinds[i] != spec.HandedAsks {
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
func LeaveToKernel(f *os.File) (sockets []int) {
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
func (s *Handed) take(kind byte, f *os.File) error {
	switch kind {
	case spec.HandedDNS:
		c, err := net.FilePacketConn(f)
		if err != nil {
			return err
		}
		s.DNS = c.(*net.UDPConn)
	case spec.HandedDNSTCP, spec.HandedTCP:
		l, err := net.FileListener(f)
		if err != nil {
			return err
		}
		if kind == spec.HandedDNSTCP {
			s.DNSTCP = l.(*net.TCPListener)
			return nil
		}
		s.TCP = append(s.TCP, l.(*net.TCPListener))
	case spec.HandedRefused:
		s.Refused = f
	case spec.HandedSpare:
		s.Spares = append(s.Spares, f)
	case spec.HandedAsks:
		s.Asks = f
	default:
		return spec.ErrOrder
	}
	return nil
}

func (s *Handed) Close() {
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
	for _, f := range s.Spares {
		f.Close()
	}
	if s.Asks != nil {
		s.Asks.Close()
	}
}
