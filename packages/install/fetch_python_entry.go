package install

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

func (p *pythonFetch) collect(ctx context.Context, stage *store.Stage, packages []python.Package) (*fetched, error) {
	tree, err := finishTree(p.Host.OS, p.work())
	if err != nil {
		return nil, err
	}
	if err := p.run(ctx, false, Sealing, "", append([]string{p.python.Path}, python.CompileAll(p.site())...)...); err != nil && ctx.Err() != nil {
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
		return nil, fmt.Errorf("%s has not installed %s", p.installer(), root)
	}
	program, err := tree.program(p.line, root)
	if err != nil {
		return nil, err
	}
	e := &lockfile.Entry{
		Key: installed.Key(p.line, &p.Host), Name: root, Version: packages[at].Version, Integrity: packages[at].Integrity(),
		Program: program, File: path.Join("bin", program), Pinned: time.Now().UTC().Truncate(time.Second), Tree: python.Digest(packages),
	}
	asked, _ := python.VersionRange(p.line.Python) // interpreters has read it
	e.Engines = python.Range(append(tree.list(), python.Metadata{Python: asked}), tree.bound || filepath.IsAbs(p.line.Python), p.python.Version)
	for _, d := range packages {
		e.Packages = append(e.Packages, lockfile.Package(d))
		e.ScriptsRan = e.ScriptsRan || p.built[d.Name] != ""
	}
	return e, p.compare(e, packages)
}

// compare returns a *MovedError if the fetched packages are not the pinned ones. If they are, e
// takes over the pinned tree, packages and integrity. For another version of Python, compare looks
// only at packages that are in both lists, and a wheel for one version of Python may be another
// file; e then keeps its own tree, packages and integrity.
func (p *pythonFetch) compare(e *lockfile.Entry, packages []python.Package) error {
	if p.pinned == nil {
		return nil
	}
	pinned, other := pinnedPackages(p.pinned), p.otherPython()
	mayDiffer := func(name string) bool {
		return other && slices.Contains(p.bound, name)
	}
	if other {
		pinned, packages = python.Common(pinned, packages)
	}
	if !python.Same(pinned, packages, mayDiffer) {
		return &MovedError{Pinned: p.pinned, Found: e, LockFile: p.LockFile, Asked: p.asked(p.pinned)}
	}
	if !other {
		e.Tree, e.Packages, e.Integrity = p.pinned.Tree, p.pinned.Packages, p.pinned.Integrity
	}
	return nil
}

// otherPython reports whether the pinned tree does not run on the version of Python that installs
// now, because this machine has no Python for it any more. Then packages with machine code are
// other files.
func (p *pythonFetch) otherPython() bool {
	if p.pinned == nil {
		return false
	}
	ok, err := runtime.PythonFits(p.pinned.Engines, p.python.Version)
	return err == nil && !ok
}

func (p *pythonFetch) wasBuilt() bool {
	return p.pinned.ScriptsRan
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
