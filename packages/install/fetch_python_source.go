package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	source, needs, err := p.downloadSource(ctx, requirement)
	if err != nil {
		return nil, err
	}
	if err := p.build(ctx, name, source, needs); err != nil {
		return nil, err
	}
	return p.withPip(ctx)
}

func (p *pythonFetch) downloadSource(ctx context.Context, requirement string) (source, needs string, err error) {
	at := filepath.Join(p.jail.Home(), fmt.Sprintf("source-%d", len(p.built)))
	to, needs := filepath.Join(at, "archive"), filepath.Join(at, "needs")
	if err := errors.Join(os.RemoveAll(at), os.MkdirAll(to, 0o700), os.MkdirAll(needs, 0o700)); err != nil {
		return "", "", err
	}
	words := python.SourceDownload(requirement, to, p.request.Pre)
	if err := p.online(ctx, append([]string{p.python.Path}, words...)...); err != nil {
		return "", "", err
	}
	if source, err = onlyFile(to); err != nil {
		return "", "", err
	}
	requires, err := p.buildRequires(ctx, source)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", filepath.Base(source), err)
	}
	if len(requires) > 0 {
		err = p.online(ctx, append([]string{p.python.Path}, python.BuildDownload(requires, needs)...)...)
	}
	return source, needs, err
}

// Bounds for reading a source distribution. Its publisher chooses how much it is when unpacked.
const (
	maxSource    = 1 << 30 // bytes
	sourceMemory = 512     // megabytes
	sourceTime   = time.Minute
)

// buildRequires returns what the build of a source distribution needs. The archive is read in a jail
// without a network, which cannot write it.
func (p *pythonFetch) buildRequires(ctx context.Context, source string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sourceTime, fmt.Errorf("reading the source distribution took more than %v", sourceTime))
	defer cancel()
	fetch := p.jail
	defer func() { p.jail = fetch }()
	p.jail = p.pythonJail(filepath.Join(fetch.Dir, "read"))
	p.jail.Readable = []string{source}
	p.jail.Limits.MemoryMB, p.jail.Limits.FileSizeMB = sourceMemory, 1
	if err := errors.Join(os.RemoveAll(p.jail.Dir), os.MkdirAll(p.jail.Home(), 0o700)); err != nil {
		return nil, err
	}
	to := filepath.Join(p.jail.Home(), "pyproject.toml")
	if err := p.run(ctx, false, Fetching, "", append([]string{p.python.Path}, python.ReadProject(source, to, maxSource)...)...); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.jail.Home())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	text, err := readSmall(root, filepath.Base(to))
	if err != nil {
		return nil, err
	}
	return python.BuildRequires([]byte(text))
}

// build builds a wheel in a jail without a network, and notes the hash of its sources.
func (p *pythonFetch) build(ctx context.Context, name, source, needs string) error {
	hash, err := hashOf(source)
	if err != nil {
		return err
	}
	fetch := p.jail
	defer func() { p.jail = fetch }()
	p.jail = p.pythonJail(filepath.Join(fetch.Dir, "build", name))
	p.jail.Name, p.jail.Readable = scriptsName, []string{source, needs}
	wheel := filepath.Join(p.jail.Home(), "wheel")
	if err := errors.Join(os.RemoveAll(p.jail.Dir), os.MkdirAll(wheel, 0o700)); err != nil {
		return err
	}
	p.jail.Variables = python.Config{Index: p.config.Index}.PipVariables(p.jail.Home())
	delete(p.jail.Variables, "PIP_INDEX_URL") // it may have credentials
	if err := p.run(ctx, false, Scripts, name, append([]string{p.python.Path}, python.Build(source, needs, wheel)...)...); err != nil {
		return err
	}
	file, err := onlyFile(wheel)
	if err != nil {
		return err
	}
	if w, err := python.ParseWheel(filepath.Base(file)); err != nil || w.Name != name {
		return fmt.Errorf("the build of %s has made %s", filepath.Base(source), filepath.Base(file))
	}
	if p.built == nil {
		p.built = map[string]string{}
		p.local = []string{filepath.Join(fetch.Home(), "built")}
		if err := os.RemoveAll(p.local[0]); err != nil {
			return err
		}
	}
	p.built[name] = hash
	return errors.Join(os.MkdirAll(p.local[0], 0o700), copyWheel(file, filepath.Join(p.local[0], filepath.Base(file))))
}

// copyWheel copies a wheel that a build has made. A link out of its directory is not followed.
func copyWheel(from, to string) error {
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer root.Close()
	in, err := root.Open(filepath.Base(from))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func onlyFile(dir string) (string, error) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // a build may have put a link there
		return "", errors.Join(fmt.Errorf("%s is no directory", dir), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 || !entries[0].Type().IsRegular() {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return "", fmt.Errorf("one file was expected, and there are %d: %s", len(entries), strings.Join(names, ", "))
	}
	return filepath.Join(dir, entries[0].Name()), nil
}
