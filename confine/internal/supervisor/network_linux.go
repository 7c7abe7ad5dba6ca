package supervisor

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// openBroker makes the socket by which the supervisor asks the launcher what the
// server's sockets may reach, and hands its other end over.
func (s *Process) openBroker() error {
	if !s.Spec.Network.Asked {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.broker = pair[0]
	theirs := jail.NetworkSockets{T: s.Init, Fds: pair[1:], Kinds: []byte{spec.SocketBroker}}
	defer theirs.Close()
	return step.On("hand over", theirs.Pass(spec.SpecFD))
}

// checkSockets makes a socket as the server will, and looks whether it is one that
// leads nowhere by itself.
func (s *Process) checkSockets() error {
	if !s.Spec.Network.Asked {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return step.On("make a TCP socket", err)
	}
	defer unix.Close(fd)
	if index, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, sys.SoBindToIfindex); err != nil || index != sys.LoopbackIndex {
		return step.On("make a TCP socket that is not bound to lo", step.ErrNotEnforced)
	}
	if _, err := unix.Getsockname(fd); err != nil {
		return step.On("name a TCP socket", err) // which takes a duplicate of it
	}
	if err := unix.Listen(fd, 1); !errors.Is(err, unix.EACCES) {
		return step.On("listen", step.ErrNotEnforced)
	}
	return nil
}
