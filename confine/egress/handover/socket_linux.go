package handover

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

// socket is one end of the pair. Any goroutine may send, one receives.
type socket struct {
	*net.UnixConn
	sending sync.Mutex
	packet  []byte
	rights  []byte
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
	return &socket{UnixConn: u, packet: make([]byte, maxMessage), rights: make([]byte, unix.CmsgSpace(4*4))}, nil
}

// send sends a message, and a connection with it where there is one. The caller
// still has to close that.
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

// receive returns the next message, and its connection; io.EOF at the end.
func (s *socket) receive() (m message, c *net.TCPConn, err error) {
	n, rights, flags, _, err := s.ReadMsgUnix(s.packet, s.rights)
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, io.EOF
	}
	if rights > 0 {
		if c, err = connection(s.rights[:rights]); err != nil {
			return m, nil, err
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("a message was cut off")
	} else {
		err = json.Unmarshal(s.packet[:n], &m)
	}
	if err != nil && c != nil {
		c.Close()
		c = nil
	}
	return m, c, err
}

// connection makes the one descriptor of a message a connection. Others are closed.
func connection(rights []byte) (*net.TCPConn, error) {
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
			unix.Close(fd)
		}
		return nil, errors.New("a message has more than one descriptor")
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
		return nil, errors.New("a descriptor is no TCP connection")
	}
	return t, nil
}
