package private

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
)

// Remove removes a file, a link, or an empty directory. The path may have several names, as those of
// Rename.
func (d *Dir) Remove(below string) error {
	if err := d.checkParents(below); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		entries, _ := fs.ReadDir(d.root.FS(), filepath.ToSlash(below))
		if len(entries) == 1 && isLock(entries[0].Name()) { // the directory counts as empty
			_ = d.root.Remove(filepath.Join(below, lockName))
		}
	}
	return d.full(d.root.Remove(below), below)
}

// RemoveAll removes a file or a directory with all that is in it, also directories that are
// read-only, and on macOS what has a flag that keeps it. The path may have several names. It follows no link out of the directory. It returns no
// error if there is nothing with this name.
func (d *Dir) RemoveAll(below string) error {
	if below == "." || !filepath.IsLocal(below) {
		return &fs.PathError{Op: "remove", Path: below, Err: fs.ErrInvalid}
	}
	err := d.root.RemoveAll(below)
	for try := 0; err != nil && try < 3; try++ { // another process may delete the same files
		fs.WalkDir(d.root.FS(), filepath.ToSlash(below), func(at string, e fs.DirEntry, _ error) error {
			name := filepath.FromSlash(at)
			ClearFlags(d.root, name)
			if e != nil && (e.IsDir() || runtime.GOOS == "windows") { // some filesystems of Windows keep a read-only file
				_ = d.root.Chmod(name, 0o700)
			}
			return nil
		})
		err = d.root.RemoveAll(below)
	}
	return d.full(err, below)
}

// Rename moves a file or directory. Both paths may have several names: their directories are
// checked as Open does. What has the new name already is replaced, as rename(2) does.
func (d *Dir) Rename(from, to string) error {
	for _, below := range []string{from, to} {
		if err := d.checkParents(below); err != nil {
			return err
		}
	}
	return d.full(d.root.Rename(from, to), from)
}

// LetGo calls unlock and closes the directory, so that it can be moved, on a system that moves no directory
// that is open: Windows. There a program that has a file of it open keeps it from being moved. On other
// systems LetGo does nothing.
func (d *Dir) LetGo(unlock func()) {
	if runtime.GOOS == "windows" {
		unlock()
		d.Close()
	}
}

func (d *Dir) checkParents(below string) error {
	parent, rest, deeper := strings.Cut(filepath.ToSlash(below), "/")
	if !deeper {
		return single(below)
	}
	next, err := d.Open(parent)
	if err != nil {
		return err
	}
	defer next.Close()
	return next.checkParents(rest)
}
