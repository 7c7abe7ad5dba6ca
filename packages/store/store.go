package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// validate returns an error if the ID cannot be a path in the store.
func (id ID) validate() error {
	for what, part := range map[string]string{"ecosystem": id.Ecosystem, "name": id.Name, "version": id.Version, "digest": id.Digest} {
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

// place returns the directory of a tree and its seal.
func (s Store) place(id ID) string {
	return filepath.Join(s.Dir, id.Ecosystem, strings.ReplaceAll(id.Name, "/", "+"), id.Version+"-"+id.Digest[:digestDigits])
}

// ErrNotInstalled is in the chain of an error about a tree that the store does not have.
var ErrNotInstalled = errors.New("not installed")

// Open returns an installed tree, with a shared lock on it. The error is ErrNotInstalled if
// the store does not have it.
func (s Store) Open(id ID) (*Tree, error) {
	if err := id.validate(); err != nil {
		return nil, err
	}
	place := s.place(id)
	lock, err := lockDir(place, shared)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	seal, err := os.Open(filepath.Join(place, sealName))
	if err != nil {
		lock.Close()
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNotInstalled
		}
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	return &Tree{ID: id, Dir: filepath.Join(place, treeName), seal: seal, lock: lock}, nil
}

// lockDir locks the directory of a tree and its seal. The directory is locked, and not the
// seal, because a slow check replaces the seal. The error is ErrNotInstalled if the directory
// does not exist or is being removed.
func lockDir(place string, how int) (*os.File, error) {
	f, err := os.Open(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotInstalled
	case err != nil:
		return nil, err
	}
	err = lockFile(f, how)
	if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && !isAt(f, place) {
		err = fmt.Errorf("it is being removed: %w", ErrNotInstalled)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isAt reports whether an open file is still the one with that name.
func isAt(f *os.File, name string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(open, now)
}

const (
	treeName = "tree"
	sealName = "seal"
)

// Tree is an installed tree. Close releases its lock.
type Tree struct {
	ID   ID
	Dir  string // the directory of its files
	seal *os.File
	lock *os.File
}

// Close releases the tree. The kernel does so when the program ends.
func (t *Tree) Close() error { return errors.Join(t.seal.Close(), t.lock.Close()) }

// Trees returns the trees of the store, in the order of their paths. A tree whose seal cannot
// be read is left out, and the error names it.
func (s Store) Trees() ([]Info, error) {
	seals, err := filepath.Glob(filepath.Join(globQuote(s.Dir), "*", "*", "*", sealName))
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, file := range seals {
		h, fault := readSeal(file)
		switch {
		case errors.Is(fault, fs.ErrNotExist): // removed since
		case fault != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", file, fault))
		default:
			out = append(out, Info{ID: h.id, Files: h.count, Bytes: h.bytes, place: filepath.Dir(file)})
		}
	}
	return out, err
}

// globQuote escapes what filepath.Glob would expand.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// Info describes an installed tree.
type Info struct {
	ID    ID
	Files int
	Bytes int64
	place string
}

// Path returns the directory of the tree and its seal.
func (i Info) Path() string { return i.place }

// ErrInUse is returned for a tree that a running server uses.
var ErrInUse = errors.New("in use by a running server")

// Remove deletes a tree. It returns ErrInUse if a server runs from it.
func (s Store) Remove(info Info) error {
	lock, err := os.Open(info.place)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := lockFile(lock, exclusive); err != nil {
		return fmt.Errorf("%s: %w", info.ID, ErrInUse)
	}
	if !isAt(lock, info.place) {
		return fmt.Errorf("%s: %w", info.ID, ErrNotInstalled)
	}
	trash := filepath.Join(s.Dir, "trash")
	var at string
	for range 3 { // another process may just have emptied and removed the trash
		if err = os.MkdirAll(trash, 0o700); err == nil {
			at, err = os.MkdirTemp(trash, "")
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := os.Rename(info.place, filepath.Join(at, "removed")); err != nil {
		return err
	}
	os.Remove(filepath.Dir(info.place)) // the package's directory, if this was its last tree
	err = removeReadOnly(at)
	os.Remove(trash)
	return err
}

// Lookup returns the place of a tree, also of one whose seal is damaged, so that it can be
// removed. ok reports whether it exists.
func (s Store) Lookup(id ID) (info Info, ok bool) {
	if id.validate() != nil {
		return info, false
	}
	info = Info{ID: id, place: s.place(id)}
	st, err := os.Lstat(info.place)
	return info, err == nil && st.IsDir()
}

// InUse reports whether a server runs from a tree.
func (s Store) InUse(info Info) bool {
	lock, err := os.Open(info.place)
	if err != nil {
		return false
	}
	defer lock.Close()
	return lockFile(lock, exclusive) != nil
}

// removeReadOnly deletes a file, or a directory whose directories may be read-only.
func removeReadOnly(dir string) error {
	err := os.RemoveAll(dir)
	for try := 0; err != nil && try < 3; try++ { // another process may delete the same files
		filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
		err = os.RemoveAll(dir)
	}
	return err
}
