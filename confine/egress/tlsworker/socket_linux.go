package tlsworker

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is one end of the socket pair. Any goroutine may send; only one at a time may receive.
type socket struct {
	*net.UnixConn
	raw     syscall.RawConn
	sending sync.Mutex
	packet  []byte
	control []byte
}

func newSocket(f *os.File) (*socket, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("not a UNIX socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		c.Close()
		return nil, err
	}
	return &socket{UnixConn: u, raw: raw, packet: make([]byte, maxMessage), control: make([]byte, unix.CmsgSpace(4*4))}, nil
}

// send sends a message, with a connection if c is not nil. The caller must still close c.
func (s *socket) send(m message, c *net.TCPConn) error {
	b, err := m.encode()
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

// receive waits for a message and returns it with its connection, if any. At the end it
// returns io.EOF.
func (s *socket) receive() (m message, c *net.TCPConn, err error) {
	if over := s.raw.Read(func(fd uintptr) bool {
		m, c, err = s.tryReceive(int(fd))
		return err != unix.EAGAIN
	}); over != nil {
		return m, nil, over
	}
	return m, c, err
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

// parseConn returns the connection in a control message. If the message has more than one
// descriptor, parseConn closes all of them and returns an error.
func parseConn(rights []byte) (*net.TCPConn, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	if len(fds) != 1 {
		for _, fd := range fds {
			unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // close at once
			unix.Close(fd)
		}
		return nil, errors.New("a message has other than one descriptor")
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	t, ok := c.(*net.TCPConn)
	if !ok {
		c.Close()
		return nil, errors.New("a descriptor is not a TCP connection")
	}
	return t, nil
}
