package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const (
	oldestNPM       = 7 // the first major version whose lock file names the whole tree
	defaultRegistry = "https://registry.npmjs.org/"
	maxText         = 1 << 20 // bytes that are read of a configuration file
)

// An npmProgram is the npm of PATH.
type npmProgram struct {
	file    string   // its path in PATH
	argv    []string // what starts it
	dir     string   // of its package; "" if that is not known, if a shim of a version manager starts it
	version string   // "" if that is not known
	prefix  string   // of the node that runs it: npm's global prefix, unless it is set
}

func (i *Installer) findNPM(ctx context.Context, paths []string) (*npmProgram, error) {
	p, node, err := i.lookForNPM(paths)
	if err != nil {
		return nil, err
	}
	found, err := installed.Interpreters(ctx, &i.Host, i.Waive, i.untrusted, runtime.Node)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(found.Interpreters, func(n runtime.Interpreter) bool { return n.Default }); at >= 0 {
		node = found.Interpreters[at].Path // of a shim: the one that it starts
	} else if real, err := filepath.EvalSymlinks(node); err == nil {
		node = real
	}
	p.prefix = filepath.Dir(filepath.Dir(node))
	dirs := []string{filepath.Join(p.prefix, "lib/node_modules/npm")}
	if real, err := filepath.EvalSymlinks(p.file); err == nil {
		dirs = append([]string{filepath.Dir(filepath.Dir(real))}, dirs...) // npm/bin/npm-cli.js
	}
	for _, dir := range dirs {
		if version, ok := npmVersion(dir); ok {
			p.dir, p.version = dir, version
			break
		}
	}
	return p, nil
}

// npmVersion returns the version of the npm whose package is in dir. ok is false for another package.
func npmVersion(dir string) (version string, ok bool) {
	var manifest struct{ Name, Version string }
	err := json.Unmarshal([]byte(readText(filepath.Join(dir, "package.json"))), &manifest)
	return manifest.Version, err == nil && manifest.Name == "npm"
}

func (i *Installer) lookForNPM(paths []string) (p *npmProgram, node string, err error) {
	p, node = &npmProgram{file: i.lookPath(paths, "npm")}, i.lookPath(paths, "node")
	p.argv = []string{p.file}
	switch {
	case p.file == "":
		return nil, "", errors.New("npm was not found in PATH" + i.ignoredPaths() + ": it fetches the packages of npm. Install Node.js with npm, for example from your distribution (nodejs, npm)")
	case node == "":
		return nil, "", fmt.Errorf("node was not found in PATH%s: %s, which fetches packages, is a program for it. Install Node.js", i.ignoredPaths(), p.file)
	}
	return p, node, nil
}

// CanFetch returns an error if a program is missing without which no package of a line can be fetched
// or run. It runs none.
func (i *Installer) CanFetch(line *runline.Line) error {
	if line.Ecosystem() == runline.NPM {
		_, _, err := i.lookForNPM(i.searchPath())
		return err
	}
	return i.lookForPython()
}

func (p *npmProgram) newEnough() error {
	major, err := strconv.Atoi(strings.SplitN(p.version, ".", 2)[0])
	if err == nil && major < oldestNPM {
		return fmt.Errorf("%s is npm %s: packages are installed with npm %d or newer, whose lock file names the whole tree. Update it: npm install --global npm", p.file, p.version, oldestNPM)
	}
	return nil
}

// readConfig reads npm's configuration as this npm does when it runs in HOME, except that no
// .npmrc of a project counts, and neither do the variables PREFIX and DESTDIR, which say for npm
// where its global file is.
func (p *npmProgram) readConfig(i *Installer) (npm.Config, error) {
	host := &i.Host
	var faults []error
	read := func(file string) []npm.Setting {
		if file == "" {
			return nil
		}
		text, err := i.readBelieved("npm's configuration", file)
		faults = append(faults, err)
		return npm.Settings(text, host.Getenv)
	}
	var builtin []npm.Setting
	if p.dir != "" {
		builtin = read(filepath.Join(p.dir, "npmrc"))
	}
	config := npm.Config{npm.VariableSettings(host.Environ, host.Getenv), builtin}
	path := func(name, otherwise string) string {
		if file := config.Path(name, host.Home, host.Home); file != "" {
			return file
		}
		return otherwise
	}
	config = slices.Insert(config, 1, read(path("userconfig", filepath.Join(host.Home, ".npmrc"))))
	config = slices.Insert(config, 2, read(path("globalconfig", filepath.Join(path("prefix", p.prefix), "etc/npmrc"))))
	return config, errors.Join(faults...)
}

// readText returns a regular file, or "" if it cannot be read: most users have no such file.
func readText(name string) string {
	f, err := os.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return ""
	}
	return string(text)
}
