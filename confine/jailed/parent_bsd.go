//go:build darwin || freebsd

package jailed

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// watchParent returns a channel that is closed when the process that has made the command dies.
func watchParent(pid int) (<-chan struct{}, error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(queue)
	var exit unix.Kevent_t
	unix.SetKevent(&exit, pid, unix.EVFILT_PROC, unix.EV_ADD)
	exit.Fflags = unix.NOTE_EXIT
	_, err = unix.Kevent(queue, []unix.Kevent_t{exit}, nil, nil)
	if err != nil || os.Getppid() != pid { // the parent died, and another process may have its ID
		unix.Close(queue)
		return nil, errors.New("the program that has made the command is gone")
	}
	died := make(chan struct{})
	go func() {
		defer close(died)
		for {
			if _, err := unix.Kevent(queue, nil, make([]unix.Kevent_t, 1), nil); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return died, nil
}
