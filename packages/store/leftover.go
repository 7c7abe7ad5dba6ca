package store

import (
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
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
func (s Store) Leftovers() []Leftover {
	top, err := private.Open(s.Dir, ".")
	if err != nil {
		return nil
	}
	defer top.Close()
	all := s.stages(top)
	for i, l := range all {
		stage, err := s.Stage(filepath.Base(l.Path))
		if err == nil {
			stage.Close()
		}
		all[i].Bytes, all[i].Busy = treeBytes(top, stagingName+"/"+filepath.Base(l.Path)), err != nil
	}
	if info, err := top.Lstat(trashName); err == nil && treeBytes(top, trashName) > 0 {
		all = append(all, Leftover{Path: filepath.Join(s.Dir, trashName), Bytes: treeBytes(top, trashName), Used: info.ModTime()})
	}
	return all
}

func (s Store) stages(top *private.Dir) (all []Leftover) {
	staging, err := top.Open(stagingName)
	if err != nil {
		return nil
	}
	defer staging.Close()
	entries, _ := staging.Names()
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() {
			all = append(all, Leftover{Path: filepath.Join(s.Dir, stagingName, e.Name()), Used: info.ModTime()})
		}
	}
	return all
}

func treeBytes(top *private.Dir, name string) (n int64) {
	fs.WalkDir(top.Root().FS(), name, func(_ string, d fs.DirEntry, err error) error {
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
