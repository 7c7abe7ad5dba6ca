//go:build linux || darwin || freebsd

package terminal

import "golang.org/x/sys/unix"

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
