package ownfile

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrBusy is the error of a file that another mcp-jail is replacing.
var ErrBusy = errors.New("another mcp-jail is changing it")

// Replace puts data in the place of the file, and f becomes the new file. The error is a
// [*RefusedError], or that of the system; with an error, the file stays as it was.
func (f *File) Replace(data []byte) error {
	if len(data) > MaxSize {
		return f.tooLarge(int64(len(data)))
	}
	if err := f.Replaceable(); err != nil {
		return err
	}
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.Unchanged(); err != nil {
		return err
	}
	f.removeStale()
	temp, info, err := f.write(data, f.info.Mode().Perm())
	if err != nil {
		return err
	}
	if err = f.Unchanged(); err == nil {
		err = os.Rename(temp, f.Real)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	f.Data, f.info, f.hash = data, info, sha256.Sum256(data)
	syncDir(filepath.Dir(f.Real))
	return nil
}

// lock takes the lock of the inode that Read saw. A program that takes it later finds
// another inode under the name, and is refused by Unchanged.
func (f *File) lock() (unlock func(), err error) {
	unlock, err = lockFile(f.Real)
	if errors.Is(err, ErrBusy) {
		return nil, &RefusedError{File: f.Name, Reason: err.Error(), Fix: "try again when it has finished", Err: err}
	} else if err != nil {
		return nil, cmp.Or(f.Unchanged(), err)
	}
	return unlock, nil
}

// tempPrefix begins the names of unfinished files.
func (f *File) tempPrefix() string { return "." + filepath.Base(f.Real) + ".mcp-jail-" }

// removeStale removes unfinished files that a Replace has left behind. The lock is held, and
// a Replace that has lost its file to another one fails at the latest at its rename.
func (f *File) removeStale() {
	dir := filepath.Dir(f.Real)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), f.tempPrefix()) {
			continue
		}
		if info, err := e.Info(); err == nil && owner(info) == self() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// write writes an unfinished file beside f, with its group.
func (f *File) write(data []byte, mode fs.FileMode) (temp string, info fs.FileInfo, err error) {
	dir := filepath.Dir(f.Real)
	file, err := os.CreateTemp(dir, f.tempPrefix()+"*")
	if err != nil {
		return "", nil, f.cannotWrite(dir, err)
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := keepGroup(file, f.info); err != nil {
		return "", nil, f.refuse("the new file cannot have its group: "+err.Error(), "change its group to one of yours with chgrp")
	}
	if err := file.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", nil, err
	}
	if _, err := file.Write(data); err != nil {
		return "", nil, err
	}
	if err := file.Sync(); err != nil {
		return "", nil, err
	}
	info, err = file.Stat()
	return file.Name(), info, err
}

func (f *File) cannotWrite(dir string, err error) error {
	return &RefusedError{File: f.Name, Reason: fmt.Sprintf("no file can be made in %s: %v", dir, errors.Unwrap(err)), Fix: "make the directory writable for you", Err: err}
}
