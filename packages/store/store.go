// Package store keeps the installed packages of one user: for each package that a launcher
// such as npx was asked for, the tree of files that its installer made.
//
// # Layout
//
//	DIR/npm/@scope+name/1.2.3-0123456789abcdef/tree/     the files, read-only
//	DIR/npm/@scope+name/1.2.3-0123456789abcdef/seal      the files as they were installed
//	DIR/staging/KEY/                                     an installation that is not finished; locked as long as it works
//	DIR/trash/                                           removed trees that are being deleted
//
// The digits are the first ones of a digest of the list of the tree's packages. So two trees with
// one version of a package and different dependencies lie beside one another. All servers and all
// arguments use the same tree.
//
// # A start
//
// Store.Open takes a shared lock on a tree, so that it is not removed while a server runs.
// Tree.Check reports whether the files are those that were sealed. It reads no file: it
// compares the name, mode, size, times, inode and owner of each with the seal. It lists no
// directory: a name that was added or removed changes the times of its directory. If one of them
// differs, for example after a backup was restored, Tree.Check reads all files. Then only other
// names, contents or kinds are a difference: directory, link, executable file or other file.
//
// # An installation
//
// Store.Stage returns the directory of an unfinished installation, with an exclusive lock.
// Stages have a name, so the next installation of the same package continues in the same
// directory, with the files that an interrupted one has fetched. Stage.Seal makes the files
// read-only and seals them in a store inside the stage, from which they can be tried.
// Sealed.Commit moves them to their place by one rename. A tree is therefore complete or not
// there. Store.Sweep deletes old stages.
//
// # The lock file
//
// mcp-jail.lock is the lock file. For each spec of a launcher's line, the file
// names the exact package that mcp-jail installed, its whole tree and the definitions of its tools.
//
// The file is JSON, with its packages in a stable order and indented, so that a merge or a comparison
// of two versions reads well. [Find] reads one entry, [Load] reads all, [Update] changes the file, and [Diff]
// tells in words what an update changes.
//
//	{
//	  "version": 1,
//	  "packages": [
//	    {
//	      "ecosystem": "npm",
//	      "spec": "server-files@latest",
//	      "name": "server-files",
//	      "version": "1.2.3",
//	      "file": "node_modules/server-files/dist/index.js",
//	      …
//	      "lock": { npm's package-lock.json },
//	      "pins": { "default": { "tools": [ { "name": "read_file", "definition": { … } } ] } }
//	    }
//	  ]
//	}
//
// The user's "note" in a package is kept, and so is npm's package-lock.json as npm has written it, but
// for its white space. The order of the user's own is lost at the next change. A member that this
// version does not know is an error, so nothing is dropped. A format with more members has another
// version number.
//
// Limits
//
//   - [Find] does not check what the other entries say, and [Load] not what npm's lock files in them
//     say: [Entry.List] does.
//   - A file has at most 32 MiB.
//   - [Update] takes an advisory lock of the directory. Without such locks, it only compares the
//     file shortly before it replaces it, and a change in between is lost.
//   - On Windows, owners and modes are not checked.
//   - Whether a jailed server could write the file is for the caller to decide.
//
// # Limits
//
//   - The check is against accidents and against programs that the user runs without a jail
//     and that rewrite files as any program does. A program with the user's rights can also
//     rewrite the seal and the lock file.
//   - A power failure shortly after an installation may lose the contents of files that the seal
//     has. Most filesystems then show another size, which the check finds.
//   - Locks are advisory (flock(2)). Where a filesystem has none, the store is not used.
//   - On other systems than Linux, Tree.Check reads all files each time.
//   - On Windows read-only is an attribute of files. Any program of the user can take it away, and
//     files can be added. Tree.Check finds both.
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
			all = append(all, Info{ID: h.id, Bytes: h.bytes, dir: s.Dir, below: below})
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
