package confine

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openAsks makes the socket by which the supervisor asks the launcher what the
// server's sockets may reach, and hands its other end over.
func (s *shim) openAsks() error {
	if !s.order.Gate.Asked {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.asks = pair[0]
	theirs := gateSockets{t: s.init, fds: pair[1:], kinds: []byte{handedAsks}}
	defer theirs.close()
	return on("hand over", theirs.handOver(orderFD))
}

// connectProbe has Landlock say what it thinks of a connection that the server makes by
// itself: only a refusal by it counts.
func connectProbe() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}}); errors.Is(err, unix.EACCES) {
		return err
	}
	return nil
}

// checkSockets makes a socket as the server will, and looks whether it is one that
// leads nowhere by itself.
func (s *shim) checkSockets() error {
	if !s.order.Gate.Asked {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return on("make a TCP socket", err)
	}
	defer unix.Close(fd)
	if index, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, soBindToIfindex); err != nil || index != loIndex {
		return on("make a TCP socket that is not bound to lo", errHeldNot)
	}
	if _, err := unix.Getsockname(fd); err != nil {
		return on("name a TCP socket", err) // which takes a duplicate of it
	}
	if err := unix.Listen(fd, 1); !errors.Is(err, unix.EACCES) {
		return on("listen", errHeldNot)
	}
	return nil
}
