//go:build unix && !solaris && !aix

package lockfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

var errBusy = errors.New("the directory is locked")

// lockDir takes the advisory lock of a directory, so that no file is left behind. The kernel
// drops the lock when the process ends.
func lockDir(dir string, wait time.Duration) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { d.Close() }, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			d.Close()
			return func() {}, nil // no locks here (NFS): the comparison before the rename remains
		case time.Now().After(end):
			d.Close()
			return nil, errBusy
		}
	}
}

// syncDir makes a rename in a directory last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
