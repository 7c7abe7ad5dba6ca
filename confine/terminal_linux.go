package confine

import "golang.org/x/sys/unix"

// terminalProbe opens the terminal that controls this process. There is none: the shim
// and the server lead sessions of their own. Where the kernel shares the processors out
// by session (sched(7), autogroup), that also keeps a server that takes all it can get
// from starving its init, which watches its memory, and the client.
func terminalProbe() error {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		unix.Close(fd)
	}
	return err
}
