package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
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
	if err := hostfs.NewLinkResolver(hostfs.OwnerHost()).CheckTrusted(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &SyntaxError{File: name, Reason: "it is not a regular file"}
	case !hostfs.OwnedByUser(info): // replaced since it was looked at
		return nil, &SyntaxError{File: name, Reason: "it belongs to another user"}
	case info.Size() > MaxSize:
		return nil, &SyntaxError{File: name, Reason: fmt.Sprintf("it has %d bytes, and a lock file has at most %d", info.Size(), MaxSize)}
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s was changed while it was read: %w", name, err)
	}
	return data, nil
}

// readlink returns the path of a lock file without symbolic links: name may be a link to a file in
// another directory.
func readlink(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			return "", fmt.Errorf("%s is a symbolic link to a file that does not exist; create that file, or remove the link", name)
		}
		return filepath.Abs(name)
	}
	return real, err
}
