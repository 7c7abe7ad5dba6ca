//go:build linux || darwin

package tlsworker

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNotTaken means that the process leaves too many connections on their way.
var errNotTaken = errors.New("it does not take its connections")

// socket is one end of the socket pair. Any goroutine may send; only one at a time may receive.
type socket struct {
	*net.UnixConn
	raw     syscall.RawConn
	sending sync.Mutex
	control []byte
	wire
}

func newSocket(f *os.File, most int) (*socket, error) {
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
	return &socket{UnixConn: u, raw: raw, control: make([]byte, unix.CmsgSpace(4*4)), wire: newWire(most)}, nil
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
