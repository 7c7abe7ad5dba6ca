package install

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/python"
)

// request returns what pip or uv is asked for: the pinned files, the pinned versions if the files may
// be others, or what the line wants.
func (p *pythonFetch) request() (r python.Request, err error) {
	for _, s := range p.line.Packages {
		r.Requirements = append(r.Requirements, python.Requirement(s))
	}
	if p.built != nil {
		r.Local = p.local()
	}
	pinned := pinnedPackages(p.pinned)
	file := filepath.Join(p.jail.Home(), "pinned.txt")
	switch {
	case pinned == nil:
	case p.otherPython() || p.pinned.ScriptsRan: // a wheel that is built here has another hash each time
		r.Versions, err = file, os.WriteFile(file, []byte(python.Versions(pinned)), 0o600)
	default:
		r.Pinned, err = file, os.WriteFile(file, []byte(python.Requirements(pinned)), 0o600)
	}
	return r, err
}

// withPip lets pip resolve and download, and then unpack what is there.
func (p *pythonFetch) withPip(ctx context.Context) ([]python.Package, error) {
	dir := filepath.Join(p.jail.Home(), "wheels")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	request, err := p.request()
	if err != nil {
		return nil, err
	}
	if err := p.online(ctx, append([]string{p.python.Path}, request.PipDownload(dir)...)...); err != nil {
		return p.fromSource(ctx, err)
	}
	packages, files, err := p.readWheels(dir)
	if err != nil {
		return nil, err
	}
	return packages, p.offline(ctx, Fetching, append([]string{p.python.Path}, python.PipInstall(p.site(), files)...)...)
}

func (p *pythonFetch) readWheels(dir string) (packages []python.Package, files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		name, version, err := python.ParseWheel(e.Name())
		if err != nil {
			return nil, nil, err
		}
		hash, err := hashOf(file)
		if err != nil {
			return nil, nil, err
		}
		if source := p.built[name]; source != "" {
			hash = source // two builds of the same sources may differ
		}
		packages = append(packages, python.Package{Name: name, Version: version, Hashes: []string{hash}})
		files = append(files, file)
	}
	slices.SortFunc(packages, func(a, b python.Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, files, nil
}

// hashOf returns the SHA-256 of a file as pip writes it.
func hashOf(name string) (string, error) {
	sum, err := sumOf(name)
	return "sha256:" + hex.EncodeToString(sum), err
}

// withUv lets uv resolve, and then install exactly the files whose hashes it has written, or those that
// are pinned.
func (p *pythonFetch) withUv(ctx context.Context) ([]python.Package, error) {
	request, err := p.request()
	if err != nil {
		return nil, err
	}
	list := request.Pinned
	if list == "" {
		in := filepath.Join(p.jail.Home(), "wanted.txt")
		list = filepath.Join(p.jail.Home(), "resolved.txt")
		text := strings.Join(request.Requirements, "\n") + "\n"
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if err := p.online(ctx, append([]string{p.uv}, request.UvCompile(p.python.Path, in, list)...)...); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("uv has left no list of packages: %w", err)
	}
	packages, err := python.ReadRequirements(string(text))
	if err != nil {
		return nil, fmt.Errorf("the list of packages that uv has left cannot be read: %w", err)
	}
	return packages, p.online(ctx, append([]string{p.uv}, python.UvInstall(p.python.Path, p.site(), list)...)...)
}
