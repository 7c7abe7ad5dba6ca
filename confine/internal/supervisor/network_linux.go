package supervisor

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// openBroker makes the socket by which the mediator asks the launcher which addresses the
// server may reach, and hands the other end to the launcher.
func (s *Process) openBroker() error {
	if !s.Spec.Network.Brokered {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.broker = pair[0]
	theirs := jail.NetworkSockets{Task: s.Init, Fds: pair[1:], Kinds: []byte{spec.SocketBroker}}
	defer theirs.Close()
	return step.On("hand over", theirs.Pass(spec.SpecFD))
}

// checkSockets makes a TCP socket as the server will, and checks that the mediator made it: it
// is bound to lo and cannot listen.
func checkSockets(sp *spec.Spec) error {
	if !sp.Network.Brokered {
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
		return step.On("name a TCP socket", err) // which the mediator lets pass, if it may see which socket that is
	}
	if err := unix.Listen(fd, 1); !errors.Is(err, unix.EACCES) {
		return step.On("listen", step.ErrNotEnforced)
	}
	return nil
}
