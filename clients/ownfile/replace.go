package ownfile

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errBusy is the error of a file that another mcp-jail is replacing.
var errBusy = errors.New("another mcp-jail is changing it")

// Replace puts data in the place of the file, and f becomes the new file. The error is a
// [*refusedError], or that of the system; with an error, the file stays as it was.
func (f *File) Replace(data []byte) error {
	if int64(len(data)) > f.max {
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
	// The lock keeps other mcp-jails away, and only the content shows what other programs did.
	if err := f.unchanged(); err != nil {
		return err
	}
	dir, err := f.openDir()
	if err != nil {
		return err
	}
	defer dir.Close()
	f.removeStale(dir)
	temp, info, err := f.write(dir, data, f.info.Mode().Perm())
	if err != nil {
		return err
	}
	if err = f.rename(dir, temp); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	f.Data, f.info, f.hash = data, info, sha256.Sum256(data)
	syncDir(filepath.Dir(f.Real))
	return nil
}

// rename gives the new file the name of the old one. To write took a while, so it looks again at the old one.
func (f *File) rename(dir *os.Root, temp string) error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := f.in(dir); err != nil {
		return err
	}
	return dir.Rename(temp, filepath.Base(f.Real))
}

// lock takes the lock of the inode that Read saw. A program that takes it later finds
// another inode under the name, and is refused by Unchanged.
func (f *File) lock() (unlock func(), err error) {
	unlock, err = lockFile(f.Real)
	if errors.Is(err, errBusy) {
		return nil, &refusedError{File: f.Name, Reason: err.Error(), Fix: "try again when it has finished", Err: err}
	} else if err != nil {
		return nil, cmp.Or(f.unchanged(), err)
	}
	return unlock, nil
}

// openDir opens the directory of the file. Its owner may be another user, and put another directory
// in its place at any time. So all is done in the one that has the file.
func (f *File) openDir() (*os.Root, error) {
	dir, err := os.OpenRoot(filepath.Dir(f.Real))
	if err != nil {
		return nil, err
	}
	if err := f.in(dir); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// in returns an error unless an open directory has the file that Read saw.
func (f *File) in(dir *os.Root) error {
	if now, err := dir.Lstat(filepath.Base(f.Real)); err != nil || !os.SameFile(now, f.info) {
		return f.changed("its directory has been replaced since mcp-jail read it")
	}
	return nil
}

func (f *File) tempPrefix() string { return "." + filepath.Base(f.Real) + ".mcp-jail-" }

// removeStale removes unfinished files that a Replace has left behind. The lock is held, and
// a Replace that has lost its file to another one fails at the latest at its rename.
func (f *File) removeStale(dir *os.Root) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), f.tempPrefix()) {
			continue
		}
		if info, err := e.Info(); err == nil && owner(info) == self() {
			_ = dir.Remove(e.Name())
		}
	}
}

func (f *File) write(dir *os.Root, data []byte, mode fs.FileMode) (_ string, info fs.FileInfo, err error) {
	name := f.tempPrefix() + strings.ToLower(rand.Text())
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, f.cannotWrite(filepath.Dir(f.Real), err)
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			_ = dir.Remove(name)
		}
	}()
	if hasList(file) {
		return "", nil, f.refuse("its directory gives new files an access list", "if nobody else needs the files there:  setfacl -k "+strings.ReplaceAll(filepath.Dir(f.Real), " ", `\ `))
	}
	// Until it has its group, the file is for its owner alone.
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
	return name, info, err
}

func (f *File) cannotWrite(dir string, err error) error {
	return &refusedError{File: f.Name, Reason: fmt.Sprintf("no file can be made in %s: %v", dir, errors.Unwrap(err)), Fix: "make the directory writable for you", Err: err}
}
