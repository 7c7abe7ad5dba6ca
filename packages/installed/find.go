package installed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Finder finds installed programs.
type Finder struct {
	Store     store.Store
	LockFile  string
	Host      *hostfs.Host
	Untrusted func(file string) string // why a file is not chosen as interpreter: see runtime.Finder
	Waive     []policy.Axis            // of the server: see jail.Jail
	// Own says that the line is of the user's own configuration: no file of the working directory is a
	// shadow then.
	Own bool
}

// Program is what runs in place of a launcher.
type Program struct {
	Command   string   // "node", or an absolute path
	Arguments []string // the program's file and the arguments of the line
	Env       []string // NAME=value: what the line sets
	OwnEnv    []string // NAME=value: what the first line of the program sets, for itself alone
	Bin       string   // the directory of the tree's programs, which belongs at the end of PATH, for the program alone
	Entry     *lockfile.Entry
	Dir       string // the directory of the tree
	Shadow    string // what the launcher would run in place of the pinned package; usually ""
	NotUsed   string // the interpreter of PATH that is not used, and which server may write it; usually ""

	tree    *store.Tree
	checked chan error
}

// ErrNotInstalled says that the package of a line is not installed, or not pinned.
var ErrNotInstalled = store.ErrNotInstalled

// ShadowError says that something is in the way of a package that is not pinned: the
// launcher would run that instead.
type ShadowError struct {
	Launcher runline.Launcher
	Path     string
}

func (e *ShadowError) Error() string {
	return fmt.Sprintf("%s runs %s before a package of that name: the line is run as it is given", e.Launcher, e.Path)
}

// A GoneError says that a package is pinned, and that the store does not have its files. It
// matches ErrNotInstalled.
type GoneError struct{ Name, Version string }

func (e *GoneError) Error() string {
	return e.Name + " " + e.Version + " is pinned, and its files are gone"
}

// Is reports whether target is ErrNotInstalled.
func (e *GoneError) Is(target error) bool { return target == ErrNotInstalled }

// Find returns the program of a line. The caller closes it.
func (f Finder) Find(ctx context.Context, line *runline.Line) (*Program, error) {
	shadow := f.shadow(line)
	entry, err := f.entry(line)
	switch {
	// A pinned package wins over a shadow. Only if nothing is pinned, the shadow decides.
	case shadow != "" && errors.Is(err, ErrNotInstalled):
		return nil, &ShadowError{line.Launcher, shadow}
	case err != nil:
		return nil, err
	}
	tree, err := f.Store.Open(ID(entry))
	if errors.Is(err, ErrNotInstalled) {
		return nil, &GoneError{entry.Name, entry.Version}
	}
	if err != nil {
		return nil, err
	}
	p := &Program{Entry: entry, Dir: tree.Dir, Shadow: shadow, tree: tree, checked: make(chan error, 1)}
	// Reading the tree takes long: it goes on while the jail is prepared. Check waits for it.
	go func() { p.checked <- tree.Check(entry.Files) }()
	switch line.Ecosystem() {
	case runline.NPM:
		err = f.node(ctx, p, line)
	default:
		err = f.python(ctx, p, line)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	for _, a := range line.Env {
		p.Env = append(p.Env, a.Name+"="+a.Value)
	}
	return p, nil
}

// FinderFor returns the finder of the user's packages.
func FinderFor(host *hostfs.Host) Finder {
	return Finder{Store: store.Store{Dir: filepath.Join(host.DataDir, "packages")}, LockFile: filepath.Join(host.ConfigDir, lockfile.FileName), Host: host}
}

// Has reports whether the package of a line is pinned and installed.
func (f Finder) Has(line *runline.Line) bool {
	entry, err := f.entry(line)
	if err != nil {
		return false
	}
	tree, err := f.Store.Open(ID(entry))
	if err == nil {
		tree.Close()
	}
	return err == nil
}

// ID returns the name of an entry's tree in the store.
func ID(e *lockfile.Entry) store.ID {
	return store.ID{Ecosystem: string(e.Ecosystem), Name: e.Name, Version: e.Version, Digest: strings.TrimPrefix(e.Tree, "sha256:")}
}

func (f Finder) entry(line *runline.Line) (*lockfile.Entry, error) {
	entry, err := Pinned(f.LockFile, Keys(line, f.Host, f.Own))
	switch {
	case err != nil:
		return nil, err
	case entry == nil:
		return nil, fmt.Errorf("%s is not in %s: %w", line.Packages[0], f.LockFile, ErrNotInstalled)
	}
	return entry, nil
}

// Check returns nil if the files of the tree are those that the lock file pins. The first call
// waits until they are compared, at most until ctx ends.
func (p *Program) Check(ctx context.Context) error {
	select {
	case err := <-p.checked:
		p.checked <- err
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close releases the tree, which can then be removed.
func (p *Program) Close() error {
	p.Check(context.Background())
	return p.tree.Close()
}

// shadow returns the file of the working directory, or of one above it, that npx would run in place of the
// package, or "". What npm has installed globally is none: see the package comment.
func (f Finder) shadow(line *runline.Line) string {
	name := line.Local()
	if f.Own || name == "" {
		return ""
	}
	for dir := line.In(f.Host.Dir); ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "node_modules", ".bin", name)
		if _, err := f.Host.Lstat(file); err == nil {
			return file
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
