package kept

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Do removes everything that the removal lists. It refuses, and removes nothing, if a session has
// one of the servers, has used one since Look, or runs from one of the trees. If the pins cannot
// be removed, it ends there. A later error is about the parts that could not be removed; the rest
// is gone.
func (r *Removal) Do() error {
	for _, s := range r.Servers {
		if s.dir == "" {
			continue
		}
		if err := hostfs.CheckPrivate(r.host.StateDir, filepath.Join("servers", s.Name)); err != nil {
			return err
		}
		unlock, free := records.Lock(s.dir)
		if !free {
			return fmt.Errorf("server %s was started meanwhile, or another mcp-jail rm removes it. Nothing was removed", s.Name)
		}
		defer unlock()
		now := &Server{Name: s.Name, Homes: s.Homes, dir: s.dir}
		if now.readTimes(r.host, records.File(r.host, s.Name)); now.Used.After(s.Used) {
			return fmt.Errorf("server %s was used in the meantime. Nothing was removed; look at it again with mcp-jail list", s.Name)
		}
	}
	for _, t := range r.Trees {
		if target.PackageStore(r.host).InUse(t) {
			return &InUseError{t.ID.String()}
		}
	}
	if err := r.removePins(); err != nil {
		return err
	}
	errs := []error{r.removeTrees()}
	for _, s := range r.Servers {
		if s.dir != "" {
			errs = append(errs, removeDir(r.host, s.dir))
		}
	}
	if len(r.Leftovers) > 0 {
		target.PackageStore(r.host).Sweep(r.unused)
	}
	return errors.Join(append(errs, emptyRemoved(r.host))...)
}

// removePins removes the entries from the lock file, with the tools that were proposed for them.
// An entry that was changed since Look stays.
func (r *Removal) removePins() error {
	if len(r.Pins) == 0 {
		return nil
	}
	remove := func(f *lockfile.File) error {
		for _, e := range r.Pins {
			if now := f.Find(e.Key); now != nil && now.Tree == e.Tree && now.Files == e.Files {
				f.Remove(e.Key)
			}
		}
		return nil
	}
	if err := lockfile.Update(target.LockFile(r.host), remove); err != nil {
		return err
	}
	proposed := target.ProposedTools(r.host)
	if _, err := os.Lstat(proposed); err != nil {
		return nil
	}
	return lockfile.Update(proposed, func(f *lockfile.File) error {
		for _, e := range r.Pins {
			f.Remove(e.Key)
		}
		return nil
	})
}

// removeTrees removes the trees, except those that a pin names now.
func (r *Removal) removeTrees() (err error) {
	if len(r.Trees) == 0 {
		return nil
	}
	lock, err := lockfile.Load(target.LockFile(r.host))
	if err != nil {
		return err
	}
	for _, t := range r.Trees {
		if slices.ContainsFunc(lock.Entries(), func(e *lockfile.Entry) bool { return isTreeOf(t, e) }) {
			continue
		}
		failed := target.PackageStore(r.host).Remove(t)
		switch {
		case errors.Is(failed, store.ErrInUse):
			err = errors.Join(err, fmt.Errorf("the files of %s are in use by a running server, and stay until mcp-jail rm --unused 30d", t.ID))
		case !errors.Is(failed, fs.ErrNotExist) && !errors.Is(failed, store.ErrNotInstalled):
			err = errors.Join(err, failed)
		}
	}
	return err
}

// removeDir moves the directory of a server aside in one step, and deletes it.
func removeDir(host hostfs.Host, dir string) error {
	if err := os.MkdirAll(removedDir(host), 0o700); err != nil {
		return err
	}
	if err := hostfs.CheckPrivate(host.StateDir, filepath.Base(removedDir(host))); err != nil {
		return err
	}
	at, err := os.MkdirTemp(removedDir(host), "")
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(at, filepath.Base(dir))); err != nil {
		os.Remove(at)
		return err
	}
	return deleteAll(at)
}

// emptyRemoved deletes the directories that earlier removals moved aside and did not delete,
// because they failed or were killed.
func emptyRemoved(host hostfs.Host) error {
	if _, err := os.Lstat(removedDir(host)); err != nil {
		return nil
	}
	if err := hostfs.CheckPrivate(host.StateDir, filepath.Base(removedDir(host))); err != nil {
		return err
	}
	return deleteAll(removedDir(host))
}

// deleteAll deletes a directory. Directories in it may be read-only.
func deleteAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// isStage reports whether a leftover is an installation that the next one continues.
func isStage(l Leftover) bool {
	return strings.Contains(l.Path, string(filepath.Separator)+"staging"+string(filepath.Separator))
}
