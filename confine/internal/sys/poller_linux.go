package sys

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// stepPoller is about what Go's runtime needs before anything can be waited for.
const StepPoller = "epoll"

var errNoWatch = errors.New("the kernel gives your user no further epoll watch (fs.epoll.max_user_watches): " +
	"some process of that user, perhaps a server in a jail, holds them all; end it, or raise that setting")

// CanPoll tells whether Go's runtime can have its poller, as which it ends the program
// with a dump of goroutines: what epoll watches is counted for a user as a whole. It does
// what the runtime will do when the first file is opened or the first timer set, so call
// it before.
func CanPoll() error {
	const few = "Go's runtime needs two files to wait for others (ulimit -n)"
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return step.On(few, err)
	}
	defer unix.Close(poller)
	events, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return step.On(few, err)
	}
	defer unix.Close(events)
	err = unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, events, &unix.EpollEvent{Events: unix.EPOLLIN})
	if err == unix.ENOSPC {
		return errNoWatch
	}
	return step.On("epoll_ctl", err)
}
