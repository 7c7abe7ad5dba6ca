package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/packages/python"
)

// maxSources bounds the packages of a tree that are built from their sources.
const maxSources = 20

// fromSource builds the package for which pip has found no wheel, and lets pip go on. The
// installation must allow scripts. The source distribution and what its build needs are
// downloaded first; the build has no network, and a HOME of its own.
func (p *pythonFetch) fromSource(ctx context.Context, failed error) ([]python.Package, error) {
	var e *PythonError
	if !errors.As(failed, &e) || !e.needsSource() || !p.Scripts || len(p.built) == maxSources {
		return nil, failed
	}
	requirement := e.missing()
	name := python.RequirementName(requirement)
	// The built wheel is there, and pip still does not take it.
	if _, again := p.built[name]; again {
		return nil, failed
	}
	for _, d := range pinnedPackages(p.pinned) {
		if d.Name == name {
			requirement = name + "==" + d.Version
		}
	}
	at := filepath.Join(p.jail.Home(), fmt.Sprintf("source-%d", len(p.built)))
	archive, needs := filepath.Join(at, "archive"), filepath.Join(at, "needs")
	if err := errors.Join(os.RemoveAll(at), os.MkdirAll(archive, 0o700), os.MkdirAll(needs, 0o700)); err != nil {
		return nil, err
	}
	words := python.SourceDownload(requirement, archive, needs)
	if err := p.online(ctx, append([]string{p.python.Path}, words...)...); err != nil {
		return nil, err
	}
	source, err := onlyFile(archive)
	if err != nil {
		return nil, err
	}
	if err := p.build(ctx, name, source, needs); err != nil {
		return nil, err
	}
	return p.withPip(ctx)
}

// build builds a wheel in a jail without a network, and notes the hash of its sources.
func (p *pythonFetch) build(ctx context.Context, name, source, needs string) error {
	hash, err := hashOf(source)
	if err != nil {
		return err
	}
	jail := p.pythonJail(filepath.Join(p.jail.Dir, "build", name))
	jail.Name, jail.Readable, jail.Watched = scriptsName, []string{source, needs}, true
	jail.Variables = python.PipVariables(jail.Home())
	wheel := filepath.Join(jail.Home(), "wheel")
	if err := errors.Join(os.RemoveAll(jail.Dir), os.MkdirAll(wheel, 0o700)); err != nil {
		return err
	}
	if err := p.run(ctx, *jail, Scripts, name, append([]string{p.python.Path}, python.Build(source, needs, wheel)...)...); err != nil {
		return err
	}
	file, err := onlyFile(wheel)
	if err != nil {
		return err
	}
	if made, _, err := python.ParseWheel(filepath.Base(file)); err != nil || made != name {
		return fmt.Errorf("the build of %s has made %s", filepath.Base(source), filepath.Base(file))
	}
	if p.built == nil {
		p.built = map[string]string{}
		if err := errors.Join(os.RemoveAll(p.local()), os.MkdirAll(p.local(), 0o700)); err != nil {
			return err
		}
	}
	p.built[name] = hash
	return os.Rename(file, filepath.Join(p.local(), filepath.Base(file))) // nothing runs in that jail any more
}

// onlyFile returns the one file in a directory, which a build may have written.
func onlyFile(dir string) (string, error) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // a build may have put a link there
		return "", errors.Join(fmt.Errorf("%s is no directory", dir), err)
	}
	entries, err := os.ReadDir(dir)
	if err == nil && (len(entries) != 1 || !entries[0].Type().IsRegular()) {
		err = fmt.Errorf("one file was expected in %s, and there is something else: %d entries", dir, len(entries))
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, entries[0].Name()), nil
}
