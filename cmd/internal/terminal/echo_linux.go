package terminal

import "golang.org/x/sys/unix"

const getModes, setModes = unix.TCGETS, unix.TCSETS

// flushInput drops what a terminal has received and no program has read.
func flushInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
