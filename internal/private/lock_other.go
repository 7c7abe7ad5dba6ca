//go:build !unix || solaris || aix

package private

import "errors"

// Lock returns an error: there are no locks of directories here.
func (d *Dir) Lock(Kind) (unlock func(), err error) {
	return nil, errors.ErrUnsupported
}

// sync does nothing: a directory cannot be opened for it.
func (d *Dir) sync() error { return nil }
