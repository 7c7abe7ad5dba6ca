package jail

import (
	"os"

	"golang.org/x/sys/unix"
)

// Message returns what passes the descriptors over a socket: a byte, whose bits say which of the three
// they are, and the control message that comes with it, nil if there are none. The files must be kept
// until it is sent.
func (s Stdio) Message() (present, rights []byte) {
	present = []byte{0}
	var fds []int
	for n, f := range []*os.File{s.In, s.Out, s.Err} {
		if f != nil {
			present[0] |= 1 << n
			fds = append(fds, int(f.Fd()))
		}
	}
	if fds != nil {
		rights = unix.UnixRights(fds...)
	}
	return present, rights
}
