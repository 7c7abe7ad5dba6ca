//go:build darwin || linux

package sandboxexec

import (
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// maxSpec bounds a spec that is received.
const maxSpec = 64 << 20

// Send sends a supervisor the server's descriptors and the spec. A supervisor that has ended is no
// error here: the end of its events tells the reason.
func Send(socket *os.File, stdio jail.Stdio, s *spec.Spec) error {
	present, rights := stdio.Message()
	err := control(socket, func(fd int) error { return unix.Sendmsg(fd, present, rights, nil, 0) })
	runtime.KeepAlive(stdio)
	if err == nil {
		encoded := s.Encode()
		_, err = socket.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(encoded))), encoded...))
	}
	if isGone(err) {
		return nil
	}
	return err
}

// control calls f with the descriptor of a file.
func control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// receive waits for what Send sends. stdio are the server's descriptors, -1 for none. The error is
// io.EOF if the launcher closed the socket before.
func receive(socket int) (s *spec.Spec, stdio [3]int, err error) {
	stdio = [3]int{-1, -1, -1}
	var present [1]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	var n, size int
	for {
		if n, size, _, _, err = unix.Recvmsg(socket, present[:], rights, 0); err != unix.EINTR {
			break
		}
	}
	switch {
	case err != nil:
		return nil, stdio, err
	case n == 0:
		return nil, stdio, io.EOF
	}
	fds, err := parseRights(rights[:size])
	if err != nil {
		return nil, stdio, err
	}
	for i := range stdio {
		if present[0]&(1<<i) == 0 {
			continue
		}
		if len(fds) == 0 {
			return nil, stdio, spec.ErrSpec
		}
		stdio[i], fds = fds[0], fds[1:]
	}
	var length [4]byte
	if err := sys.ReadFull(socket, length[:]); err != nil {
		return nil, stdio, err
	}
	size = int(binary.BigEndian.Uint32(length[:]))
	if size > maxSpec {
		return nil, stdio, spec.ErrSpec
	}
	b := make([]byte, size)
	if err := sys.ReadFull(socket, b); err != nil {
		return nil, stdio, err
	}
	s, err = spec.Decode(b)
	return s, stdio, err
}

// parseRights returns the descriptors of a control message. No program that this process starts
// inherits them.
func parseRights(b []byte) (fds []int, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(b)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		some, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		for _, fd := range some {
			unix.CloseOnExec(fd)
		}
		fds = append(fds, some...)
	}
	return fds, nil
}

// isGone reports whether an error of a write says that the other end is closed.
func isGone(err error) bool {
	errno := step.Errno(err)
	return errno == syscall.EPIPE || errno == syscall.ECONNRESET || errno == syscall.ENOTCONN
}

// fdReader reads from a descriptor without the runtime's poller.
type fdReader int

func (fd fdReader) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// writeFull writes all of b to a descriptor.
func writeFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
