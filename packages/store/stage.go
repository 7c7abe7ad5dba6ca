package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

func sortAll(names []string) { slices.Sort(names) }

// ErrBusy is returned while another process installs the same package.
var ErrBusy = errors.New("another mcp-jail is installing it")

// Stage is an unfinished installation.
type Stage struct {
	Dir    string // for the installer; kept until Discard, or until Sweep removes it
	key    string
	store  Store
	dir    *private.Dir // Dir
	unlock func()
	once   sync.Once
}

const stagingName = "staging"

// Stage returns the directory in which a package is installed before it is complete. key
// names the package: letters, digits, '.', '_', '-', '+' and '@'. The directory still has the files
// that an interrupted installation with this key has fetched. The error is ErrBusy if another
// process installs under this key now.
func (s Store) Stage(key string) (*Stage, error) {
	if filepath.Base(key) != key || key == "" || key[0] == '.' {
		return nil, fmt.Errorf("%q cannot be the name of a stage", key)
	}
	dir, err := private.Make(s.Dir, filepath.Join(stagingName, key))
	if err != nil {
		return nil, fmt.Errorf("the store of packages cannot be written: %w", err)
	}
	unlock, err := dir.Lock(private.Exclusive)
	if err != nil {
		dir.Close()
		return nil, lockFault(err)
	}
	if !dir.InPlace() { // Discard has just removed it
		unlock()
		dir.Close()
		return nil, ErrBusy
	}
	return &Stage{Dir: filepath.Join(s.Dir, stagingName, key), key: key, store: s, dir: dir, unlock: unlock}, nil
}

// lockFault returns what it means that a stage could not be locked. Without locks, two installations
// could write one tree, so the store is not used: to wait would help nothing.
func lockFault(err error) error {
	if errors.Is(err, private.ErrLocked) {
		return errors.Join(ErrBusy, err)
	}
	return fmt.Errorf("the store of packages is not used, because it needs locks: %w", err)
}

// Close keeps the directory for the next Stage with the same key. A second call does nothing.
func (g *Stage) Close() {
	g.once.Do(func() {
		g.unlock()
		g.dir.Close()
	})
}

// Discard removes the directory.
func (g *Stage) Discard() error {
	defer g.Close()
	staging, err := private.Open(g.store.Dir, stagingName)
	if err != nil {
		return err
	}
	defer staging.Close()
	if runtime.GOOS == "windows" {
		g.Close() // an open file cannot always be removed there; who locks it now sees that it is gone
	}
	return staging.RemoveAll(g.key)
}

// Remove removes a file or directory of the stage, also a read-only one.
func (g *Stage) Remove(name string) error {
	below, err := g.below(name)
	if err != nil {
		return err
	}
	return g.dir.RemoveAll(below)
}

// Root returns the handle of Dir. What a jail may have written is read and changed through it alone: it follows no
// link out of Dir.
func (g *Stage) Root() *os.Root { return g.dir.Root() }

// Below returns the name that a path has in Root.
func (g *Stage) Below(file string) string {
	below, err := g.below(file)
	if err != nil {
		return ".." // which Root refuses
	}
	return below
}

func (g *Stage) below(name string) (string, error) {
	below, err := filepath.Rel(g.Dir, name)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return "", fmt.Errorf("%s is not below %s", name, g.Dir)
	}
	return below, nil
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

// Names in a stage.
const (
	readyName  = "ready"
	sealedName = "sealed"
)

// Seal makes the files of tree, a directory below Dir, read-only, seals them, and moves them to
// a store of their own in the stage. It replaces the tree that an earlier Seal has left there.
func (g *Stage) Seal(id ID, tree string) (*Sealed, error) {
	if err := id.validate(); err != nil {
		return nil, err
	}
	below, err := g.below(tree)
	if err == nil {
		err = errors.Join(g.dir.RemoveAll(readyName), g.dir.RemoveAll(sealedName))
	}
	if err != nil {
		return nil, err
	}
	ready, err := g.dir.Make(readyName)
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	moved := filepath.Join(readyName, treeName)
	if err := g.dir.Root().Rename(below, moved); err != nil {
		return nil, err
	}
	// A script of a package may have put a link in place of the tree.
	if info, err := g.dir.Root().Lstat(moved); err != nil || !info.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%s, the root of the tree, is no directory", tree))
	}
	if err := makeReadOnly(g.dir.Root(), moved); err != nil {
		return nil, err
	}
	contents, err := sealTree(ready, id)
	if err != nil {
		return nil, err
	}
	own := Store{filepath.Join(g.Dir, sealedName)}
	parent, err := private.Make(own.Dir, filepath.Dir(id.below()))
	if err != nil {
		return nil, err
	}
	parent.Close()
	return &Sealed{ID: id, Contents: contents, Store: own, to: g.store}, g.dir.Rename(readyName, filepath.Join(sealedName, id.below()))
}

func sealTree(place *private.Dir, id ID) (contents string, err error) {
	tree, err := place.Open(treeName)
	if err != nil {
		return "", err
	}
	defer tree.Close()
	files, err := readTree(tree.Root())
	if err != nil {
		return "", err
	}
	lines := fileLines(files)
	h := head{id: id, contents: digestOf(lines)}
	h.count, h.bytes = totals(files)
	if h.attributes, err = attributesDigest(tree.Root(), lines); err != nil {
		return "", err
	}
	return h.contents, writeSeal(place, h, lines)
}

// Commit moves the tree to the store. A tree that is there already is kept if its contents are
// the same, and replaced otherwise. The error is ErrInUse if a server runs from the tree to be
// replaced. The stage stays: the caller must Close or Discard it.
func (s *Sealed) Commit() error {
	from, err := filepath.Rel(s.to.Dir, filepath.Join(s.Store.Dir, s.ID.below()))
	if err != nil {
		return err
	}
	top, err := private.Open(s.to.Dir, ".")
	if err != nil {
		return err
	}
	defer top.Close()
	for try := 0; ; try++ {
		if old, err := s.to.Open(s.ID); err == nil {
			same := old.Check(s.Contents) == nil
			old.Close()
			if same {
				return nil
			}
		}
		if old, there := s.to.Lookup(s.ID); there {
			if err := s.to.Remove(old); err != nil {
				return err
			}
		}
		parent, err := private.Make(s.to.Dir, filepath.Dir(s.ID.below()))
		if err == nil {
			parent.Close()
			err = top.Rename(from, s.ID.below())
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
	top, err := private.Open(s.Dir, ".")
	if err != nil {
		return
	}
	defer top.Close()
	_ = top.RemoveAll(trashName)
	for _, l := range s.stages(top) {
		if unused > 0 && time.Since(l.Used) < unused {
			continue
		}
		if stage, err := s.Stage(filepath.Base(l.Path)); err == nil {
			_ = stage.Discard()
		}
	}
}

func writeSeal(place *private.Dir, h head, lines []byte) error {
	return place.Replace(sealName, append(h.encode(), lines...), private.How{Mode: 0o444, Sync: true})
}

// makeReadOnly makes all files and directories below a name readable for all users, and writable for
// none.
func makeReadOnly(root *os.Root, name string) error {
	return fs.WalkDir(root.FS(), filepath.ToSlash(name), func(name string, d fs.DirEntry, err error) error {
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
		return root.Chmod(filepath.FromSlash(name), mode)
	})
}

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
