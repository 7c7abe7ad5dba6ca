//go:build unix && !solaris && !aix

package private

import (
	"errors"
	"syscall"
)

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
