//go:build !unix || solaris || aix

package private

// sync does nothing: a directory cannot be opened for it.
func (d *Dir) sync() error { return nil }
