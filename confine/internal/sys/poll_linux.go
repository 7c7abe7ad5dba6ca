package sys

import (
	"errors"

	"golang.org/x/sys/unix"
)

// WaitReadable waits until a read from a descriptor would return: data, the end, or an error. It
// reports false after the timeout, in milliseconds; a negative timeout never ends.
func WaitReadable(fd, timeout int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, timeout); err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// StepPoller is the name of the step that runs CheckPoller.
const StepPoller = "epoll"

var errNoWatch = errors.New("the kernel gives your user no further epoll watch (fs.epoll.max_user_watches): " +
	"some process of that user, perhaps a server in a jail, holds them all; end it, or raise that setting")

// CheckPoller returns an error if Go's runtime cannot set its poller up. The runtime would
// end the program with a dump of all goroutines: the kernel counts epoll watches for each
// user, and they can be used up. Call CheckPoller before the first file is opened and the
// first timer is set.
func CheckPoller() error {
	const few = "Go's runtime needs two files to wait for others (ulimit -n)"
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return On(few, err)
	}
	defer unix.Close(poller)
	events, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return On(few, err)
	}
	defer unix.Close(events)
	err = unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, events, &unix.EpollEvent{Events: unix.EPOLLIN})
	if err == unix.ENOSPC {
		return errNoWatch
	}
	return On("epoll_ctl", err)
}
