package jail

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// This file has the steps of Stdio.Terminal. The jail's end is called slave, as in pty(7).

const terminalFlags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC

// openTerminal makes the server's terminal in the /dev/pts of the jail, which the init has just mounted.
// The user's own terminal is in another one, and the server gets no descriptor of it.
func (b *Builder) openTerminal() (err error) {
	if b.stdio.Terminal == nil {
		return nil
	}
	t := b.Init
	if b.master, err = stub.Openat(t, unix.AT_FDCWD, "/dev/ptmx", terminalFlags, 0); err != nil {
		return step.On("/dev/ptmx", err)
	}
	if _, err := stub.Ioctl(t, b.master, unix.TIOCSPTLCK, make([]byte, 4)); err != nil {
		return step.On("unlock", err)
	}
	slave, err := t.Call(unix.SYS_IOCTL, uintptr(b.master), unix.TIOCGPTPEER, terminalFlags)
	b.slave = int(slave)
	return step.On("/dev/pts", err)
}

// passTerminal passes the launcher's end to it and closes that end in the jail. So the terminal hangs up
// when the launcher closes it.
func (b *Builder) passTerminal() error {
	if b.stdio.Terminal == nil {
		return nil
	}
	b.master, b.slave = b.Outer.Resolve(b.master), b.Outer.Resolve(b.slave)
	if err := stub.Sendmsg(b.Outer, spec.ControlFD, []byte{0}, unix.UnixRights(b.master), unix.MSG_NOSIGNAL); err != nil {
		return step.On("hand over", err)
	}
	return stub.Close(b.Outer, b.master)
}

// takeTerminal receives what passTerminal has sent, before the gateway reads from the same socket.
func (b *Builder) takeTerminal() error {
	if b.stdio.Terminal == nil {
		return nil
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, size, _, _, err := unix.Recvmsg(int(b.Control.Fd()), make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return WrapStep(step.Terminal, err)
	}
	fds, err := sys.ParseRights(rights[:size])
	if err != nil || len(fds) != 1 {
		return WrapStep(step.Terminal, spec.ErrSpec)
	}
	return b.stdio.Terminal.set(fds[0])
}

// controlTerminal makes the slave the first three descriptors of the server, and its controlling terminal.
func (b *Builder) controlTerminal(t *stub.Task) {
	for fd := range 3 {
		stub.Dup3(t, b.slave, fd, 0)
	}
	t.Call(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0)
}

// WithTerminal returns the three files of a jail in the host's namespaces. It makes the terminal that
// Terminal asks for in the host's /dev/pts. The launcher calls release when the files were sent.
func (s Stdio) WithTerminal() (files Stdio, release func(), err error) {
	if s.Terminal == nil {
		return s, func() {}, nil
	}
	slave, err := s.Terminal.open()
	if err != nil {
		return s, nil, WrapStep(step.Terminal, err)
	}
	s.In, s.Out, s.Err = slave, slave, slave
	return s, func() { slave.Close() }, nil
}

func (t *Terminal) open() (slave *os.File, err error) {
	master, err := unix.Open("/dev/ptmx", terminalFlags, 0)
	if err != nil {
		return nil, step.On("/dev/ptmx", err)
	}
	if err := t.set(master); err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, step.On("unlock", err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, terminalFlags)
	if errno != 0 {
		return nil, step.On("/dev/pts", errno)
	}
	return os.NewFile(fd, "terminal of a server"), nil
}

// set sets Master. It takes nothing but the launcher's end of a terminal.
func (t *Terminal) set(fd int) error {
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that Close ends a Read
	}
	if err != nil {
		unix.Close(fd)
		return WrapStep(step.Terminal, err)
	}
	if t.Master != nil { // of a jail that could not be built
		t.Master.Close()
	}
	t.Master = os.NewFile(uintptr(fd), "terminal")
	if t.Prepare != nil {
		t.Prepare(t.Master)
	}
	return nil
}
