package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func sortAll(names []string) { slices.Sort(names) }

// ErrBusy is returned while another process installs the same package.
var ErrBusy = errors.New("another mcp-jail is installing it")

// Stage is an unfinished installation.
type Stage struct {
	Dir   string // the installer's; kept until Commit or Discard
	store Store
	lock  *os.File
}

// Stage returns the directory in which a package is installed before it is complete. key
// names the package: letters, digits, '.', '_', '-', '+' and '@'. What an interrupted
// installation with the same key has left is still there. The error is ErrBusy if another
// process installs under this key now.
func (s Store) Stage(key string) (*Stage, error) {
	dir := filepath.Join(s.Dir, "staging", key)
	if filepath.Base(dir) != key || key == "" || key[0] == '.' {
		return nil, fmt.Errorf("%q cannot be the name of a stage", key)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store of packages cannot be made: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.Dir, "staging", key+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(lock, exclusive); err != nil {
		lock.Close()
		return nil, ErrBusy
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // the holder before this one may have removed it
		lock.Close()
		return nil, err
	}
	return &Stage{Dir: dir, store: s, lock: lock}, nil
}

// Close keeps the directory for the next Stage with the same key.
func (g *Stage) Close() error { return g.lock.Close() }

// Discard removes the directory.
func (g *Stage) Discard() error {
	defer g.lock.Close()
	return removeReadOnly(g.Dir)
}

// Commit makes the files of tree, a directory below Dir, read-only, seals them and moves them
// to their place. It returns the digest of their contents, which Tree.Check takes. A tree that
// is there already is kept if its contents are the same, and replaced otherwise. The stage
// stays; Close or Discard it.
func (g *Stage) Commit(id ID, tree string) (contents string, err error) {
	if err := id.validate(); err != nil {
		return "", err
	}
	files, err := readTree(tree)
	if err != nil {
		return "", err
	}
	contents = contentsDigest(files)
	if old, err := g.store.Open(id); err == nil {
		same := old.Check(contents) == nil
		old.Close()
		if same {
			return contents, nil
		}
	}
	ready := filepath.Join(g.Dir, "ready")
	if err := removeReadOnly(ready); err != nil {
		return "", err
	}
	if err := os.Mkdir(ready, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tree, filepath.Join(ready, treeName)); err != nil {
		return "", err
	}
	if err := makeReadOnly(filepath.Join(ready, treeName)); err != nil {
		return "", err
	}
	h := head{id: id, contents: contents}
	h.count, h.bytes = totals(files)
	if h.attributes, err = attributesDigest(filepath.Join(ready, treeName)); err != nil {
		return "", err
	}
	if err := writeSeal(ready, h, files); err != nil {
		return "", err
	}
	return contents, g.store.put(id, ready)
}

// put moves a sealed tree to its place. What is there moves to the trash.
func (s Store) put(id ID, ready string) error {
	place := s.place(id)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(place); err == nil {
		if err := s.Remove(Info{ID: id, place: place}); err != nil {
			return err
		}
	}
	return os.Rename(ready, place)
}

// writeSeal replaces the seal beside a tree.
func writeSeal(dir string, h head, files []file) error {
	f, err := os.CreateTemp(dir, ".seal")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(h.encode(files))
	err = errors.Join(err, f.Chmod(0o444), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, sealName))
}

// makeReadOnly takes the right to write from everyone, and makes everything readable for all.
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
