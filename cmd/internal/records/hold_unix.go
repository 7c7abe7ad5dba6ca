//go:build unix

package records

import (
	"errors"
	"syscall"
	"time"
)

// hold takes a shared lock on the directory of a server until the process ends, so that it is
// not removed during a session. It opens no os.File, which would release the lock when it is
// collected.
func hold(dir string) {
	fd, err := openDir(dir)
	if err != nil {
		return
	}
	for range 3 { // Running holds the other lock for a moment
		if err = syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	syscall.Close(fd)
}

func openDir(dir string) (int, error) {
	return syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
}

// Lock takes the directory of a server from all sessions. ok is false if a session has it. The
// caller calls unlock.
func Lock(dir string) (unlock func(), ok bool) {
	fd, err := openDir(dir)
	if err != nil {
		return func() {}, true // it does not exist, or is no directory: no session has it
	}
	for try := 0; ; try++ { // another Running holds it for a moment
		if !errors.Is(syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
			return func() { syscall.Close(fd) }, true
		}
		if try == 3 {
			syscall.Close(fd)
			return nil, false
		}
		time.Sleep(time.Millisecond)
	}
}
