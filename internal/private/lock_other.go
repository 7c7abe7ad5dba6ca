//go:build !unix || solaris || aix

package private

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Lock returns an error that does not match [ErrLocked]: mcp-jail has no locks of directories here.
func (d *Dir) Lock(Kind) (unlock func(), err error) {
	return nil, &os.PathError{Op: "lock", Path: d.path, Err: fmt.Errorf("mcp-jail has no locks of directories on %s: %w", runtime.GOOS, errors.ErrUnsupported)}
}

// LockFile does nothing.
func LockFile(*os.File) error { return nil }

// sync does nothing: a directory cannot be opened for it.
func (d *Dir) sync() error { return nil }
