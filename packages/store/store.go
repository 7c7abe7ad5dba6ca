package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// Store is the directory of one user's packages. The directory need not exist.
type Store struct{ Dir string }

// ID names one tree.
type ID struct {
	Ecosystem string // "npm" or "pypi"
	Name      string // as the registry writes it: @scope/name
	Version   string
	Digest    string // hexadecimal digest of the list of the tree's packages
}

func (id ID) String() string { return id.Name + "@" + id.Version }

// digestDigits is how many digits of a digest are part of a path.
const digestDigits = 16

func (id ID) validate() error {
	for _, p := range [...][2]string{{"ecosystem", id.Ecosystem}, {"name", id.Name}, {"version", id.Version}, {"digest", id.Digest}} {
		what, part := p[0], p[1]
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\x00\\\n") || len(part) > 256 {
			return fmt.Errorf("the %s of the package %q cannot be a name in the store", what, id.Name+"@"+id.Version)
		}
		if what != "name" && strings.Contains(part, "/") {
			return fmt.Errorf("the %s %q has a slash", what, part)
		}
	}
	scope, name, scoped := strings.Cut(id.Name, "/")
	if scoped && (!strings.HasPrefix(scope, "@") || name == "" || strings.HasPrefix(name, ".") || strings.Contains(name, "/")) {
		return fmt.Errorf("%q is not the name of a package", id.Name)
	}
	if len(id.Digest) < digestDigits || strings.Trim(id.Digest, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a digest in hexadecimal digits", id.Digest)
	}
	return nil
}

func (id ID) below() string {
	return filepath.Join(id.Ecosystem, strings.ReplaceAll(id.Name, "/", "+"), id.Version+"-"+id.Digest[:digestDigits])
}

// ErrNotInstalled is in the chain of an error about a tree that the store does not have.
var ErrNotInstalled = errors.New("not installed")

// Open returns an installed tree, with a shared lock on it. The error is ErrNotInstalled if
// the store does not have it, and a *hostfs.OwnerError if another user could have made it.
func (s Store) Open(id ID) (*Tree, error) {
	if err := id.validate(); err != nil {
		return nil, err
	}
	t, err := s.open(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotInstalled
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	return t, nil
}

func (s Store) open(id ID) (*Tree, error) {
	place, unlock, err := s.lock(id.below(), private.Shared)
	if err != nil {
		return nil, err
	}
	t := &Tree{ID: id, Dir: filepath.Join(s.Dir, id.below(), treeName), place: place, unlock: unlock}
	t.tree, err = place.Open(treeName)
	if err == nil {
		t.seal, err = place.OpenFile(sealName, os.O_RDONLY, 0)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// lock opens and locks the directory of a tree and its seal. The directory is locked, and not the
// seal, because a slow check replaces the seal. The error is ErrNotInstalled if the directory is
// being removed.
func (s Store) lock(below string, kind private.Kind) (place *private.Dir, unlock func(), err error) {
	place, err = private.Open(s.Dir, below)
	if err != nil {
		return nil, nil, err
	}
	unlock, err = place.Lock(kind)
	if err == nil && !place.InPlace() {
		unlock()
		err = ErrNotInstalled
	}
	if err != nil {
		place.Close()
	}
	if errors.Is(err, private.ErrLocked) && kind == private.Shared {
		err = fmt.Errorf("it is being removed: %w", ErrNotInstalled)
	}
	return place, unlock, err
}

const (
	treeName = "tree"
	sealName = "seal"
)

// Tree is an installed tree. Close releases its lock.
type Tree struct {
	ID     ID
	Dir    string // the directory of its files
	place  *private.Dir
	tree   *private.Dir // Dir
	seal   *os.File
	unlock func()
}

// Close releases the tree. The kernel does so when the program ends.
func (t *Tree) Close() error {
	if t.tree != nil {
		t.tree.Close()
	}
	if t.seal != nil {
		t.seal.Close()
	}
	t.unlock()
	return t.place.Close()
}

// Trees returns the trees of the store, in the order of their paths. A tree whose seal cannot
// be read is left out, and the error names it.
func (s Store) Trees() (all []Info, err error) {
	top, err := private.Open(s.Dir, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer top.Close()
	seals, err := fs.Glob(top.Root().FS(), "*/*/*/"+sealName)
	for _, file := range seals {
		below := filepath.Dir(filepath.FromSlash(file))
		h, fault := s.readSeal(below)
		switch {
		case errors.Is(fault, fs.ErrNotExist): // removed since
		case fault != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Join(s.Dir, below, sealName), fault))
		default:
			all = append(all, Info{ID: h.id, Files: h.count, Bytes: h.bytes, dir: s.Dir, below: below})
		}
	}
	return all, err
}

func (s Store) readSeal(below string) (head, error) {
	place, err := private.Open(s.Dir, below)
	if err != nil {
		return head{}, err
	}
	defer place.Close()
	f, err := place.OpenFile(sealName, os.O_RDONLY, 0)
	if err != nil {
		return head{}, err
	}
	defer f.Close()
	return readHead(f)
}

// Info describes an installed tree.
type Info struct {
	ID         ID
	Files      int
	Bytes      int64
	dir, below string
}

// Path returns the directory of the tree and its seal.
func (i Info) Path() string { return filepath.Join(i.dir, i.below) }

// ErrInUse is returned for a tree that a running server uses.
var ErrInUse = errors.New("in use by a running server")

const trashName = "trash"

// Remove deletes a tree. It returns ErrInUse if a server runs from it.
func (s Store) Remove(info Info) error {
	place, unlock, err := s.lock(info.below, private.Exclusive)
	switch {
	case errors.Is(err, private.ErrLocked):
		return fmt.Errorf("%s: %w", info.ID, ErrInUse)
	case err != nil:
		return fmt.Errorf("%s: %w", info.ID, err)
	}
	defer place.Close()
	defer unlock()
	place.LetGo(unlock)
	top, err := private.Open(s.Dir, ".")
	if err != nil {
		return err
	}
	defer top.Close()
	err = again(func() (bool, error) { return throwAway(top, info.below) })
	_ = top.Remove(filepath.Dir(info.below)) // the package's directory, if this was its last tree
	_ = top.Remove(trashName)
	return err
}

// again throws a tree away. Before it is moved, another process may just have removed the trash, and so there
// are four attempts.
func again(throw func() (moved bool, err error)) error {
	for try := 1; ; try++ {
		if moved, err := throw(); moved || try == 4 {
			return err
		}
	}
}

// throwAway moves a tree to the trash in one step, and deletes it there. moved reports that the first was
// done.
func throwAway(top *private.Dir, below string) (moved bool, err error) {
	trash, err := top.Make(trashName)
	if err != nil {
		return false, err
	}
	defer trash.Close()
	at, err := trash.MakeTemp()
	if err != nil {
		return false, err
	}
	err = top.Rename(below, filepath.Join(trashName, at, "removed"))
	return err == nil, errors.Join(err, trash.RemoveAll(at))
}

// Lookup returns the place of a tree, also of one whose seal is damaged, so that it can be
// removed. ok reports whether it exists.
func (s Store) Lookup(id ID) (info Info, ok bool) {
	if id.validate() != nil {
		return info, false
	}
	info = Info{ID: id, dir: s.Dir, below: id.below()}
	place, err := private.Open(s.Dir, info.below)
	if err == nil {
		place.Close()
	}
	return info, err == nil
}

// InUse reports whether a server runs from a tree.
func (s Store) InUse(info Info) bool {
	place, unlock, err := s.lock(info.below, private.Exclusive)
	if err == nil {
		unlock()
		place.Close()
	}
	return errors.Is(err, private.ErrLocked)
}
