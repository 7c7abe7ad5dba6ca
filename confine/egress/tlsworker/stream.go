//go:build linux || darwin

package tlsworker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Each message is a frame of a stream: four bytes with the length of the JSON text, and the text. macOS
// has no packets between processes that keep their order and tell of an end.

const (
	frameHeader = 4
	// maxHeld bounds the connections that the process has not taken yet. A socket's buffer has room
	// for some thirty messages, and a hundred connections may begin at once.
	maxHeld = 512
)

// wire is what one end needs to send frames and to receive them piece by piece.
type wire struct {
	most    int          // the length of the longest frame that is received
	frame   []byte       // the part of a frame that has arrived
	arrived *net.TCPConn // the connection that came with it

	// held are descriptors that the process has not taken yet. macOS may close a descriptor that
	// is on its way if the sender closes its own, so the launcher keeps one until the process says
	// that it has it.
	mu     sync.Mutex
	held   []int
	closed bool
}

func newWire(most int) wire { return wire{most: most} }

// socketPair returns the launcher's end and that of the process, which must not send descriptors: closing
// one can block. Both take deadlines.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range pair {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, nil, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
		}
	}
	refuseRights(pair[0])
	return os.NewFile(uintptr(pair[0]), Name), os.NewFile(uintptr(pair[1]), "launcher"), nil
}

// send sends a message, with a connection if c is not nil. The caller must still close c.
func (s *socket) send(m message, c *net.TCPConn) error {
	most := maxMessage
	if m.Rules != nil {
		most = maxRules
	}
	b, err := m.encode(most)
	if err != nil {
		return err
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
	s.sending.Lock()
	defer s.sending.Unlock()
	if c == nil {
		_, err = s.Write(frame)
		return err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	n := 0
	if ctl := raw.Control(func(fd uintptr) {
		if err = s.hold(int(fd)); err == nil {
			n, _, err = s.WriteMsgUnix(frame, unix.UnixRights(int(fd)), nil)
		}
	}); ctl != nil || err != nil {
		return errors.Join(ctl, err)
	}
	_, err = s.Write(frame[n:])
	return err
}

// hold keeps a copy of a descriptor until the process takes it.
func (s *socket) hold(fd int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return net.ErrClosed
	case len(s.held) == maxHeld:
		return errNotTaken
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		s.held = append(s.held, own)
	}
	return err
}

// took tells the launcher that the process has the descriptor of the last message.
func (s *socket) took() error { return s.send(message{Took: true}, nil) }

// release closes the launcher's copy of the descriptor that the process has taken.
func (s *socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 {
		unix.Close(s.held[0])
		s.held = slices.Delete(s.held, 0, 1)
	}
}

// Close closes the socket, and the copies of descriptors that were not taken.
func (s *socket) Close() error {
	s.mu.Lock()
	for _, fd := range s.held {
		unix.Close(fd)
	}
	s.held, s.closed = nil, true
	s.mu.Unlock()
	return s.UnixConn.Close()
}

// tryReceive is receive without waiting. It returns EAGAIN if no message is complete. It reads no byte
// of the next frame, so a descriptor that comes with a read belongs to this one.
func (s *socket) tryReceive(fd int) (m message, c *net.TCPConn, err error) {
	for {
		want := frameHeader
		if len(s.frame) >= frameHeader {
			length := binary.BigEndian.Uint32(s.frame)
			if int64(length) > int64(s.most) {
				return m, nil, fmt.Errorf("a message of %d bytes is too long", length)
			}
			want += int(length)
		}
		if len(s.frame) == want && want > frameHeader {
			break
		}
		if want == frameHeader && len(s.frame) == frameHeader {
			return m, nil, errors.New("an empty message")
		}
		if err := s.receivePiece(fd, want); err != nil {
			return m, nil, err
		}
	}
	err = json.Unmarshal(s.frame[frameHeader:], &m)
	c, s.arrived, s.frame = s.arrived, nil, s.frame[:0]
	if err != nil && c != nil {
		c.SetLinger(0)
		c.Close()
		c = nil
	}
	return m, c, err
}

// receivePiece receives more of a frame that will have want bytes.
func (s *socket) receivePiece(fd, want int) error {
	have := len(s.frame)
	s.frame = slices.Grow(s.frame, want-have)[:want]
	syscall.ForkLock.RLock() // until a received descriptor is marked
	n, rights, flags, _, err := unix.Recvmsg(fd, s.frame[have:], s.control, unix.MSG_DONTWAIT)
	// Linux reports ECONNRESET once, before what has arrived. It means that the other side has ended
	// with unread messages.
	for err == unix.EINTR || err == unix.ECONNRESET {
		n, rights, flags, _, err = unix.Recvmsg(fd, s.frame[have:], s.control, unix.MSG_DONTWAIT)
	}
	var c *net.TCPConn
	var invalid error
	if err == nil && rights > 0 {
		c, invalid = parseConn(s.control[:rights])
	}
	syscall.ForkLock.RUnlock()
	s.frame = s.frame[:have+max(n, 0)]
	switch {
	case err != nil:
		return err
	case n <= 0:
		return io.EOF
	case invalid == nil && flags&unix.MSG_CTRUNC != 0:
		invalid = errors.New("a message was truncated")
	case invalid == nil && c != nil && s.arrived != nil:
		invalid = errors.New("a message has other than one descriptor")
	}
	if invalid != nil && c != nil {
		c.SetLinger(0)
		c.Close()
		c = nil
	}
	if c != nil {
		s.arrived = c
	}
	return invalid
}
