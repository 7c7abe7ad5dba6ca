package jailed

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// watchParent returns a channel that is closed when the process that has made the command dies.
// A parent in another PID namespace is not watched.
func watchParent(pid int) (<-chan struct{}, error) {
	died := make(chan struct{})
	if os.Getppid() == 0 {
		return died, nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil || os.Getppid() != pid { // the parent died, and another process may have its ID
		return nil, errors.New("the program that has made the command is gone")
	}
	go func() {
		defer close(died)
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return died, nil
}
