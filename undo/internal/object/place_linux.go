package object

import (
	"errors"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrChanged is the error of a step whose path was changed between the review and the step.
var ErrChanged = errors.New("it was changed a moment ago")

// Place is a path whose directory is held open. All calls go through the descriptor.
type Place struct {
	Dir  int
	Name string
	Temp string // the name of a temporary file beside it
}

// OpenPlace opens the directory of a path without following a link.
func OpenPlace(path string) (*Place, error) {
	dir, name, err := openParent(path)
	if err != nil {
		return nil, err
	}
	return &Place{Dir: dir, Name: name}, nil
}

func (p *Place) Close() { unix.Close(p.Dir) }

// Clear removes the temporary file.
func (p *Place) Clear() {
	if unix.Unlinkat(p.Dir, p.Temp, 0) == unix.EISDIR {
		unix.Unlinkat(p.Dir, p.Temp, unix.AT_REMOVEDIR)
	}
}

// TempOf returns the path of the temporary file beside a path.
func (p *Place) TempOf(path string) string { return filepath.Join(filepath.Dir(path), p.Temp) }

// OnObject calls f with a name of the object at the place that no rename can redirect, and with its
// state. The object is no symbolic link.
func (p *Place) OnObject(f func(name string, now State) error) error {
	fd, err := unix.Openat(p.Dir, p.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	now, err := Look(fd, "")
	if err != nil {
		return err
	}
	if now.Kind == Link {
		return ErrChanged
	}
	return f("/proc/self/fd/"+strconv.Itoa(fd), now)
}

// PathError explains why a path cannot be opened.
func PathError(err error) string {
	if err == unix.ELOOP {
		return "a directory of its path is a symbolic link now, which undo does not follow"
	}
	return err.Error()
}
