package confine

import "golang.org/x/sys/unix"

// leaveTerminal gives up the terminal that controls the launcher, if there is one, and
// the launcher's process group, so that nothing of the jail can open it as /dev/tty or is
// reached by its keys (tty_ioctl(4), TIOCNOTTY).
//
// A session of its own would do both, and cost: where the kernel shares the processors
// out by session (sched(7), autogroup), it places the threads of a jailed server worse
// than those of one in its client's session, and node starts some 5 ms later. Only
// where the terminal cannot be opened by its name is it left that way.
func leaveTerminal() error {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.TIOCNOTTY, 0)
		unix.Close(fd)
	}
	if err == nil || err == unix.ENXIO { // there is none
		return on("process group", unix.Setpgid(0, 0))
	}
	_, err = unix.Setsid()
	return on("session", err)
}

// terminalProbe opens the terminal that controls this process.
func terminalProbe() error {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		unix.Close(fd)
	}
	return err
}
