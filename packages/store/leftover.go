package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Leftover is the stage of an interrupted or running installation, or the trash with the trees that
// are being deleted.
type Leftover struct {
	Path  string
	Bytes int64
	Used  time.Time // last change of the directory
	Busy  bool      // an installation works in it
}

// Leftovers returns the stages of the store, and its trash. Sweep removes the trash and old stages.
func (s Store) Leftovers() (all []Leftover) {
	locks, _ := filepath.Glob(filepath.Join(globQuote(s.Dir), "staging", "*.lock"))
	for _, name := range locks {
		dir := strings.TrimSuffix(name, ".lock")
		info, err := os.Lstat(dir)
		if err != nil {
			continue // the stage has no files
		}
		l := Leftover{Path: dir, Bytes: treeBytes(dir), Used: info.ModTime()}
		if lock, err := os.Open(name); err == nil {
			l.Busy = lockFile(lock, exclusive) != nil
			lock.Close()
		}
		all = append(all, l)
	}
	trash := filepath.Join(s.Dir, "trash")
	if info, err := os.Lstat(trash); err == nil && treeBytes(trash) > 0 {
		all = append(all, Leftover{Path: trash, Bytes: treeBytes(trash), Used: info.ModTime()})
	}
	return all
}

// treeBytes returns the bytes of the files below a directory, as far as they can be read.
func treeBytes(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
