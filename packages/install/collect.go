package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// collect makes an entry of what npm has installed in work, runs the scripts if they are
// allowed, and moves the files to the store.
func (i *Installer) collect(ctx context.Context, stage *store.Stage, line *launcher.Line, j *fetchJail, npmPath, work string) (*Result, error) {
	lock, err := os.ReadFile(filepath.Join(work, "package-lock.json"))
	if err != nil {
		return nil, fmt.Errorf("npm has left no lock file: %w", err)
	}
	packages, err := npm.ReadLock(lock)
	var unpinned *npm.UnpinnedError
	if err != nil && !errors.As(err, &unpinned) {
		return nil, err
	}
	e := &lockfile.Entry{Key: installed.Key(line, i.Host.Dir), Pinned: time.Now().UTC().Truncate(time.Second), Tree: npm.Digest(packages)}
	r := &Result{Entry: e, Fetched: true}
	if err := describe(e, line, work, packages); err != nil {
		return nil, err
	}
	if r.Skipped = withScripts(packages); r.Skipped != nil && i.Scripts {
		refused, err := i.runNPM(ctx, j, []string{npmPath, "rebuild", "--prefix", work, "--foreground-scripts", "--ignore-scripts=false"}, false, Scripts)
		if err != nil {
			return nil, err
		}
		r.Refused, r.Skipped = refused, nil
	}
	e.Packages = lockPackages(packages, i.Scripts)
	stop := i.report(Sealing, "")
	defer stop()
	e.Files, err = stage.Commit(installed.ID(e), work)
	return r, err
}

// describe fills in the package of an entry and its program.
func describe(e *lockfile.Entry, line *launcher.Line, work string, packages []npm.Package) error {
	root, err := rootPackage(work)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packages, func(p npm.Package) bool { return p.Path == "node_modules/"+root })
	if at < 0 {
		return fmt.Errorf("npm's lock file does not have %s", root)
	}
	dir := filepath.Join(work, "node_modules", filepath.FromSlash(root))
	program, err := npm.Program(os.DirFS(dir), line.Program)
	if err != nil {
		return err
	}
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

// rootPackage returns the name, below node_modules, of the package that was asked for first.
func rootPackage(work string) (string, error) {
	names, err := dependencies(filepath.Join(work, "package.json"))
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", errors.New("npm has installed no package")
	}
	return names[0], nil
}

// withScripts returns the packages that have scripts for their installation.
func withScripts(packages []npm.Package) (names []string) {
	for _, p := range packages {
		if p.HasInstallScript {
			names = append(names, p.Name+"@"+p.Version)
		}
	}
	return names
}

// lockPackages returns the packages as the lock file lists them.
func lockPackages(packages []npm.Package, scripts bool) (out []lockfile.Package) {
	for _, p := range packages {
		l := lockfile.Package{Path: p.Path, Version: p.Version, Integrity: p.Integrity}
		if !strings.HasSuffix(p.Path, "node_modules/"+p.Name) {
			l.Name = p.Name
		}
		if p.Integrity == "" {
			l.Resolved = p.Resolved
		}
		if p.HasInstallScript {
			l.Scripts = lockfile.ScriptsSkipped
			if scripts {
				l.Scripts = lockfile.ScriptsRun
			}
		}
		out = append(out, l)
	}
	return out
}
