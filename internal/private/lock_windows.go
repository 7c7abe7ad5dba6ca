package private

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// Lock takes the lock of the directory, which is that of a file in it. It does not wait.
// Windows drops the lock when unlock is called, or when the process ends. An error that does not match [ErrLocked] means that this filesystem
// has no locks.
func (d *Dir) Lock(kind Kind) (unlock func(), err error) {
	f, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, d.full(err, lockName)
	}
	defer f.Close()
	// A handle has no finalizer that could close it during the session.
	self := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &h, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, &os.PathError{Op: "lock", Path: d.path, Err: err}
	}
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if kind == Exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(h, how, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		err = ErrLocked
	}
	if err != nil {
		windows.CloseHandle(h)
		return nil, &os.PathError{Op: "lock", Path: d.path, Err: err}
	}
	return sync.OnceFunc(func() { windows.CloseHandle(h) }), nil
}

// sync does nothing: a directory cannot be opened for it.
func (d *Dir) sync() error { return nil }
