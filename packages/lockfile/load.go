package lockfile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// Load reads a lock file. A file that does not exist is an empty one. It refuses a file over
// which another user has control ([hostfs.OwnerError]).
func Load(name string) (*File, error) {
	data, err := Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(data, name)
}

// Read returns the text of a lock file for [Find], after the checks of [Load]. A file that
// does not exist has no text.
func Read(name string) ([]byte, error) {
	d, base, err := private.Follow(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return read(d, base, name)
}

func read(d *private.Dir, name, path string) ([]byte, error) {
	data, err := d.ReadFile(name, maxSize)
	var large *private.LargeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, private.ErrIrregular):
		return nil, &SyntaxError{File: path, Reason: private.ErrIrregular.Error()}
	case errors.As(err, &large):
		return nil, &SyntaxError{File: path, Reason: fmt.Sprintf("it has %d bytes, and a lock file has at most %d", large.Bytes, maxSize)}
	}
	return data, err
}
