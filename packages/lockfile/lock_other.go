//go:build !unix || solaris || aix

package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

var errBusy = errors.New("the directory is locked")

// stale is the age from which on the process of a lock counts as dead.
const stale = 20 * time.Second

// lockDir takes a lock on a directory: it creates a file that only one process can create.
func lockDir(dir string, wait time.Duration) (unlock func(), err error) {
	name := filepath.Join(dir, "."+FileName+".busy")
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
			return func() { os.Remove(name) }, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) { // Windows: it is being removed
			return nil, err
		}
		if fi, err := os.Stat(name); err == nil && time.Since(fi.ModTime()) > stale {
			os.Remove(name)
		}
		if time.Now().After(end) {
			return nil, errBusy
		}
	}
}

// syncDir does nothing: a directory cannot be opened for it.
func syncDir(string) error { return nil }
