//go:build linux || darwin || freebsd

package terminal

import (
	"bufio"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readHidden reads a line. hideTyped has hidden it: the modes of the terminal stay as that has set them, so
// that its restore is the last to change them.
func readHidden(f *os.File) (line []byte, err error) {
	line, err = bufio.NewReader(io.LimitReader(f, maxTyped)).ReadBytes('\n')
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	return line, err
}

// hideTyped has a terminal show nothing of what is typed, until restore is called.
func hideTyped(fd int) (restore func()) {
	was, err := unix.IoctlGetTermios(fd, getModes)
	if err != nil {
		return func() {}
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	unix.IoctlSetTermios(fd, setModes, &hidden)
	return func() { unix.IoctlSetTermios(fd, setModes, was) }
}
