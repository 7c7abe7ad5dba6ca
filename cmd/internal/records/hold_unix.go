//go:build unix

package records

import (
	"errors"
	"syscall"
	"time"
)

// hold takes a shared lock on the directory of a server until the process ends, so that no
// mcp-jail rm removes the directory during a session. It opens no os.File: the garbage collector
// would close that, and so release the lock.
func hold(dir string) {
	fd, err := openDir(dir)
	if err != nil {
		return
	}
	for range 3 { // Running takes the exclusive lock for a moment
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

// Lock takes an exclusive lock on the directory of a server. ok is false if a session has the
// directory. The caller calls unlock.
func Lock(dir string) (unlock func(), ok bool) {
	fd, err := openDir(dir)
	if err != nil {
		return func() {}, true // there is no such directory, so no session has it
	}
	for try := 0; ; try++ { // Running in another process takes it for a moment
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
