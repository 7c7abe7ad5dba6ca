package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Store is the directory of one user's packages. The directory need not exist.
type Store struct{ Dir string }

// ID names one tree.
type ID struct {
	Ecosystem string // "npm" or "pypi"
	Name      string // as the registry writes it: @scope/name
	Version   string
	Digest    string // hexadecimal digest of the tree's lock
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
	f, err := os.Open(filepath.Join(place, sealName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", id, ErrNotInstalled)
	case err != nil:
		return nil, err
	}
	if err := lockFile(f, shared); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is being removed: %w", id, ErrNotInstalled)
	}
	return &Tree{ID: id, Dir: filepath.Join(place, treeName), seal: f}, nil
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
}

// Close releases the tree. The kernel does so when the program ends.
func (t *Tree) Close() error { return t.seal.Close() }

// Trees returns the trees of the store, in the order of their paths.
func (s Store) Trees() ([]Info, error) {
	seals, err := filepath.Glob(filepath.Join(globQuote(s.Dir), "*", "*", "*", sealName))
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, file := range seals {
		h, err := readSeal(file)
		if err != nil {
			return out, err
		}
		out = append(out, Info{ID: h.id, Files: h.count, Bytes: h.bytes, place: filepath.Dir(file)})
	}
	return out, nil
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

// ErrInUse is returned for a tree that a running server uses.
var ErrInUse = errors.New("in use by a running server")

// Remove deletes a tree. It returns ErrInUse if a server runs from it.
func (s Store) Remove(info Info) error {
	f, err := os.Open(filepath.Join(info.place, sealName))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lockFile(f, exclusive); err != nil {
		return fmt.Errorf("%s: %w", info.ID, ErrInUse)
	}
	trash := filepath.Join(s.Dir, "trash")
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	at, err := os.MkdirTemp(trash, "")
	if err != nil {
		return err
	}
	if err := os.Rename(info.place, filepath.Join(at, "removed")); err != nil {
		return err
	}
	os.Remove(filepath.Dir(info.place)) // the package's directory, if this was its last tree
	return s.emptyTrash()
}

// emptyTrash deletes what an earlier removal has left.
func (s Store) emptyTrash() error {
	return removeReadOnly(filepath.Join(s.Dir, "trash"))
}

// removeReadOnly deletes a directory whose directories may be read-only.
func removeReadOnly(dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(name, 0o700)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
