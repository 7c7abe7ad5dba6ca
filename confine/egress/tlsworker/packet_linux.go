//go:build !seatbelt

package tlsworker

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// wire is what one end needs to send packets.
type wire struct{ packet []byte }

func newWire(most int) wire { return wire{make([]byte, most)} }

// socketPair returns the launcher's end and that of the process.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	// The process must not send descriptors: closing one can block. Since Linux 6.16 the kernel
	// can refuse them. On an older kernel the launcher closes received descriptors at once.
	unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0)
	return os.NewFile(uintptr(pair[0]), Name), os.NewFile(uintptr(pair[1]), "launcher"), nil
}

// send sends a message, with a connection if c is not nil. The caller must still close c.
func (s *socket) send(m message, c *net.TCPConn) error {
	b, err := m.encode(maxMessage)
	if err != nil {
		return err
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if c == nil {
		_, _, err = s.WriteMsgUnix(b, nil, nil)
		return err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if ctl := raw.Control(func(fd uintptr) { _, _, err = s.WriteMsgUnix(b, unix.UnixRights(int(fd)), nil) }); ctl != nil {
		return ctl
	}
	return err
}

// tryReceive is receive without waiting. It returns EAGAIN if there is no message.
func (s *socket) tryReceive(fd int) (m message, c *net.TCPConn, err error) {
	n, rights, flags, _, err := unix.Recvmsg(fd, s.packet, s.control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	// ECONNRESET is reported once, before the messages that have arrived. It means that the
	// other side has ended with unread messages.
	for err == unix.EINTR || err == unix.ECONNRESET {
		n, rights, flags, _, err = unix.Recvmsg(fd, s.packet, s.control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, io.EOF
	}
	if rights > 0 {
		if c, err = parseConn(s.control[:rights]); err != nil {
			return m, nil, err
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("a message was truncated")
	} else {
		err = json.Unmarshal(s.packet[:n], &m)
	}
	if err != nil && c != nil {
		c.Close()
		c = nil
	}
	return m, c, err
}

// took and release do nothing: a descriptor on its way stays open here.
func (s *socket) took() error { return nil }

func (s *socket) release() {}
