//go:build unix && !solaris && !aix

package private

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Lock takes the advisory lock of the directory, and does not wait for it. The kernel drops the lock
// when unlock is called, or when the process ends. An error that does not match [ErrLocked] means
// that this filesystem has no locks.
func (d *Dir) Lock(kind Kind) (unlock func(), err error) {
	f, err := d.root.OpenFile(".", os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil, d.full(err, ".")
	}
	defer f.Close()
	// The lock belongs to the open file, not to a descriptor. A number has no finalizer that could
	// close it during the session.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: d.path, Err: err}
	}
	how := syscall.LOCK_SH
	if kind == Exclusive {
		how = syscall.LOCK_EX
	}
	if err = flock(fd, how); err != nil {
		syscall.Close(fd)
		return nil, &os.PathError{Op: "lock", Path: d.path, Err: err}
	}
	return func() { syscall.Close(fd) }, nil
}

func flock(fd, how int) error {
	for {
		err := syscall.Flock(fd, how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// LockFile takes the exclusive advisory lock of an open file until it is closed, and does not wait for it. Its only error
// matches [ErrLocked].
func LockFile(f *os.File) error {
	if err := flock(int(f.Fd()), syscall.LOCK_EX); errors.Is(err, ErrLocked) {
		return err
	}
	return nil // perhaps there are no locks on this filesystem
}

// sync makes a rename in the directory survive a loss of power, where the filesystem can do that.
func (d *Dir) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return d.full(err, ".")
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
