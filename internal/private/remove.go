package private

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// Remove removes a file, a link, or an empty directory.
func (d *Dir) Remove(name string) error {
	if err := single(name); err != nil {
		return err
	}
	return d.full(d.root.Remove(name), name)
}

// RemoveAll removes a file or a directory with all that is in it, also directories that are
// read-only. It follows no link. It returns no error if there is nothing with this name.
func (d *Dir) RemoveAll(name string) error {
	if err := single(name); err != nil {
		return err
	}
	err := d.root.RemoveAll(name)
	for try := 0; err != nil && try < 3; try++ { // another process may delete the same files
		fs.WalkDir(d.root.FS(), name, func(at string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				_ = d.root.Chmod(filepath.FromSlash(at), 0o700)
			}
			return nil
		})
		err = d.root.RemoveAll(name)
	}
	return d.full(err, name)
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

// checkParents checks the directories between this one and a path below it.
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
