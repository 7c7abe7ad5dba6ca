package hostfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

func readDir(path string) ([]DirEntry, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|dirFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1) // unsorted, and no stat where the directory records types
	out := make([]DirEntry, len(list))
	for i, e := range list {
		out[i] = DirEntry{e.Name(), e.Type()}
	}
	return out, err
}

// readStart fills buf from the beginning of a file, as far as the file goes.
func readStart(path string, buf []byte) (n int, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|OpenFlags|noFollow, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	// A read of a fifo or terminal blocks here in spite of the flags.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "read", Path: path, Err: errors.Join(err, errors.New("not a regular file"))}
	}
	n, err = io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}
