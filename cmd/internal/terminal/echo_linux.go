package terminal

import "golang.org/x/sys/unix"

// hideTyped has a terminal show nothing of what is typed, until restore is called.
func hideTyped(fd int) (restore func()) {
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	unix.IoctlSetTermios(fd, unix.TCSETS, &hidden)
	return func() { unix.IoctlSetTermios(fd, unix.TCSETS, was) }
}
