package install

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

func (p *pythonFetch) collect(ctx context.Context, stage *store.Stage, packages []python.Package) (*fetched, error) {
	tree, err := finishTree(p.Host.OS, p.work())
	if err != nil {
		return nil, err
	}
	compile := append([]string{p.python.Path}, python.CompileAll(p.site())...)
	if err := p.offline(ctx, Sealing, compile...); err != nil && ctx.Err() != nil {
		return nil, err // otherwise some file is no Python of this version, which only matters if it is loaded
	}
	for i := range packages {
		if m, ok := tree.metadata[packages[i].Name]; ok && m.Version != "" {
			packages[i].Version = m.Version
		}
	}
	e, err := p.entry(tree, packages)
	if err != nil {
		return nil, err
	}
	f := &fetched{entry: e, refused: p.refused}
	w := &watch{installer: p.Installer, step: Sealing}
	stop := w.run()
	defer stop()
	if f.sealed, err = stage.Seal(installed.ID(e), p.work()); err == nil {
		e.Files = f.sealed.Contents
	}
	return f, err
}

func (p *pythonFetch) entry(tree *pythonTree, packages []python.Package) (*lockfile.Entry, error) {
	root := p.root()
	at := slices.IndexFunc(packages, func(d python.Package) bool { return d.Name == root })
	if at < 0 {
		return nil, fmt.Errorf("%s was asked for %s, and has not installed it", p.installer(), root)
	}
	file, err := tree.program(p.work(), p.line, root)
	if err != nil {
		return nil, err
	}
	e := &lockfile.Entry{
		Key: p.key(p.line), Name: root, Version: packages[at].Version, Integrity: packages[at].Integrity(),
		Program: p.line.Program, File: file, Engines: tree.versions(p.line, p.python.Version),
		Pinned: time.Now().UTC().Truncate(time.Second), Tree: python.Digest(packages),
	}
	for _, d := range packages {
		e.Packages = append(e.Packages, lockfile.Package(d))
		e.ScriptsRan = e.ScriptsRan || p.built[d.Name] != ""
	}
	return e, p.compare(e, packages, tree.bound)
}

// compare returns a *MovedError if the fetched packages are not the pinned ones. If they are, e
// takes over the pinned tree, packages and integrity, but for another version of Python.
func (p *pythonFetch) compare(e *lockfile.Entry, packages []python.Package, bound []string) error {
	if p.pinned == nil {
		return nil
	}
	if !python.Same(pinnedPackages(p.pinned), packages, p.otherPython(), bound) {
		return &MovedError{Pinned: p.pinned, Found: e, LockFile: p.LockFile, Asked: p.asked(p.pinned)}
	}
	if !p.otherPython() {
		e.Tree, e.Packages, e.Integrity = p.pinned.Tree, p.pinned.Packages, p.pinned.Integrity
	}
	return nil
}

func pinnedPackages(e *lockfile.Entry) (out []python.Package) {
	if e == nil {
		return nil
	}
	for _, l := range e.Packages {
		out = append(out, python.Package(l))
	}
	return out
}
