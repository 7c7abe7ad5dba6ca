package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func sortAll(names []string) { slices.Sort(names) }

// ErrBusy is returned while another process installs the same package.
var ErrBusy = errors.New("another mcp-jail is installing it")

// Stage is an unfinished installation.
type Stage struct {
	Dir   string // for the installer; kept until Discard, or until Sweep removes it
	store Store
	lock  *os.File
}

// Stage returns the directory in which a package is installed before it is complete. key
// names the package: letters, digits, '.', '_', '-', '+' and '@'. The directory still has the files
// that an interrupted installation with this key has fetched. The error is ErrBusy if another
// process installs under this key now.
func (s Store) Stage(key string) (*Stage, error) {
	dir := filepath.Join(s.Dir, "staging", key)
	if filepath.Base(dir) != key || key == "" || key[0] == '.' {
		return nil, fmt.Errorf("%q cannot be the name of a stage", key)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("the store of packages cannot be made: %w. The variable XDG_DATA_HOME names another place", err)
	}
	name := dir + ".lock"
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the store of packages cannot be written: %w", err)
	}
	if lockFile(lock, exclusive) != nil || !isAt(lock, name) { // or Discard has just removed it
		lock.Close()
		return nil, ErrBusy
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		lock.Close()
		return nil, fmt.Errorf("the store of packages cannot be written: %w", err)
	}
	return &Stage{Dir: dir, store: s, lock: lock}, nil
}

// Close keeps the directory for the next Stage with the same key.
func (g *Stage) Close() error { return g.lock.Close() }

// Discard removes the directory.
func (g *Stage) Discard() error {
	defer g.lock.Close()
	return errors.Join(removeReadOnly(g.Dir), os.Remove(g.lock.Name()))
}

// Remove removes a file or directory of the stage, also a read-only one.
func (g *Stage) Remove(name string) error {
	if rel, err := filepath.Rel(g.Dir, name); err != nil || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("%s is not below %s", name, g.Dir)
	}
	return removeReadOnly(name)
}

// Commit does Seal and Sealed.Commit, and returns Sealed.Contents.
func (g *Stage) Commit(id ID, tree string) (contents string, err error) {
	s, err := g.Seal(id, tree)
	if err != nil {
		return "", err
	}
	return s.Contents, s.Commit()
}

// Sealed is a complete tree that is not in the store yet.
type Sealed struct {
	ID       ID
	Contents string // the digest that Tree.Check takes
	Store    Store  // in the stage; has this tree and no other
	to       Store
}

// Seal makes the files of tree, a directory below Dir, read-only, seals them, and moves them to
// a store of their own in the stage. It replaces the tree that an earlier Seal has left there.
func (g *Stage) Seal(id ID, tree string) (*Sealed, error) {
	if err := id.validate(); err != nil {
		return nil, err
	}
	ready, own := filepath.Join(g.Dir, "ready"), Store{filepath.Join(g.Dir, "sealed")}
	if err := errors.Join(removeReadOnly(ready), removeReadOnly(own.Dir), os.Mkdir(ready, 0o755)); err != nil {
		return nil, err
	}
	moved := filepath.Join(ready, treeName)
	if err := os.Rename(tree, moved); err != nil {
		return nil, err
	}
	if err := makeReadOnly(moved); err != nil {
		return nil, err
	}
	files, err := readTree(moved)
	if err != nil {
		return nil, err
	}
	lines := fileLines(files)
	h := head{id: id, contents: digestOf(lines)}
	h.count, h.bytes = totals(files)
	if h.attributes, err = attributesDigest(moved, lines); err != nil {
		return nil, err
	}
	if err := writeSeal(ready, h, lines); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(own.place(id)), 0o755); err != nil {
		return nil, err
	}
	return &Sealed{ID: id, Contents: h.contents, Store: own, to: g.store}, os.Rename(ready, own.place(id))
}

// Commit moves the tree to the store. A tree that is there already is kept if its contents are
// the same, and replaced otherwise. The error is ErrInUse if a server runs from the tree to be
// replaced. The stage stays: the caller has to Close or Discard it.
func (s *Sealed) Commit() error {
	place := s.to.place(s.ID)
	for try := 0; ; try++ {
		if old, err := s.to.Open(s.ID); err == nil {
			same := old.Check(s.Contents) == nil
			old.Close()
			if same {
				return nil
			}
		}
		if _, err := os.Lstat(place); err == nil {
			if err := s.to.Remove(Info{ID: s.ID, place: place}); err != nil {
				return err
			}
		}
		err := os.MkdirAll(filepath.Dir(place), 0o755)
		if err == nil {
			err = os.Rename(s.Store.place(s.ID), place)
		}
		if err == nil || try == 3 { // otherwise another process was there between two calls
			return err
		}
	}
}

// Sweep deletes the remains of interrupted installations and removals: the trash, and each stage
// that no process works in and that has not changed for the duration unused. It returns no error,
// because nothing depends on it.
func (s Store) Sweep(unused time.Duration) {
	removeReadOnly(filepath.Join(s.Dir, "trash"))
	locks, _ := filepath.Glob(filepath.Join(globQuote(s.Dir), "staging", "*.lock"))
	for _, name := range locks {
		info, err := os.Lstat(strings.TrimSuffix(name, ".lock"))
		if err == nil && time.Since(info.ModTime()) < unused {
			continue
		}
		if stage, err := s.Stage(strings.TrimSuffix(filepath.Base(name), ".lock")); err == nil {
			stage.Discard()
		}
	}
}

// writeSeal replaces the seal beside a tree.
func writeSeal(dir string, h head, lines []byte) error {
	f, err := os.CreateTemp(dir, ".seal")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(h.encode(), lines...))
	err = errors.Join(err, f.Chmod(0o444), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, sealName))
}

// makeReadOnly makes all files and directories readable for all users, and writable for none.
func makeReadOnly(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if d.IsDir() || info.Mode()&0o100 != 0 {
			mode = 0o555
		}
		return os.Chmod(name, mode)
	})
}
