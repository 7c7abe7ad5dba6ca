package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// collect makes an entry for the tree that npm has installed, runs the scripts if scripts is true,
// and seals the files.
func (r *npmRun) collect(ctx context.Context, scripts bool) (*fetched, error) {
	lock, err := os.ReadFile(r.lockFile())
	if err != nil {
		return nil, fmt.Errorf("npm has left no lock file: %w", err)
	}
	packages, err := npm.ReadLock(lock)
	if err != nil {
		return nil, fmt.Errorf("%s was not installed: %w", r.line.Packages[0], err)
	}
	e := &lockfile.Entry{Key: r.installer.key(r.line), Pinned: r.began.UTC().Truncate(time.Second), Tree: npm.Digest(packages), Lock: lock}
	f := &fetched{entry: e, run: r}
	if err := describe(e, r.line, r.work, packages); err != nil {
		return nil, err
	}
	with := withScripts(packages, r.work)
	if scripts && with != nil {
		if f.refused, err = r.runScripts(ctx, with); err != nil {
			return f, err
		}
	} else {
		f.skipped = names(with)
	}
	e.ScriptsRan = scripts && e.HasScripts()
	// npm's own files are not sealed: a publisher can change later what they say of a package, such as its
	// deprecation.
	for _, name := range []string{r.manifest(), r.lockFile(), filepath.Join(r.work, "node_modules", ".package-lock.json")} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	w := &watch{installer: r.installer, step: Sealing}
	stop := w.run()
	defer stop()
	if f.sealed, err = r.stage.Seal(installed.ID(e), r.work); err == nil {
		e.Files = f.sealed.Contents
	}
	return f, err
}

func describe(e *lockfile.Entry, line *runline.Line, work string, packages []npm.Package) error {
	root, program, err := npm.RootProgram(os.DirFS(work), line.Names(), line.Program)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packages, func(p npm.Package) bool { return p.Path == "node_modules/"+root })
	if at < 0 {
		return fmt.Errorf("npm's lock file does not have %s", root)
	}
	dir := filepath.Join(work, "node_modules", filepath.FromSlash(root))
	manifest, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return err
	}
	if e.Engines, err = npm.Engines(manifest); err != nil {
		e.Engines = "" // npm ignores what it cannot read
	}
	e.Name, e.Version, e.Integrity = root, packages[at].Version, packages[at].Integrity
	e.Program, e.File = program.Name, path.Join("node_modules", root, program.Entry)
	return nil
}

// withScripts returns the packages of a tree that have scripts for their installation. It leaves
// out packages for other systems, which are in the lock file and not in the tree.
func withScripts(packages []npm.Package, work string) (with []npm.Package) {
	for _, p := range packages {
		if _, err := os.Lstat(filepath.Join(work, filepath.FromSlash(p.Path))); p.HasInstallScript && err == nil {
			with = append(with, p)
		}
	}
	return with
}

func names(packages []npm.Package) (all []string) {
	for _, p := range packages {
		if name := p.Name + "@" + p.Version; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
