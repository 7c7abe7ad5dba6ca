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
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const (
	oldestNPM = 7       // the first major version whose lock file names the whole tree
	maxText   = 1 << 20 // bytes that are read of a configuration file
)

// An npmProgram is the npm of PATH, and the node that runs it.
type npmProgram struct {
	node    string // without links
	cli     string // npm's program, which node runs
	version string
	dir     string // of npm's package
	prefix  string // npm's global one, unless it is set
}

// argv returns what starts npm: no shell and no #! line, so that node alone is started.
func (p *npmProgram) argv() []string { return []string{p.node, p.cli} }

// findNPM finds the npm of PATH. Where PATH has a shim of a version manager, that is the npm of the node which the
// shim starts.
func (i *Installer) findNPM(ctx context.Context, paths []string) (*npmProgram, error) {
	file, node, err := i.lookForNPM(paths)
	if err != nil {
		return nil, err
	}
	found, err := installed.Interpreters(ctx, &i.Host, i.Waive, i.untrusted, installed.Node)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(found.Interpreters, func(n installed.Interpreter) bool { return n.Default }); at >= 0 {
		node = found.Interpreters[at].Path
	} else if real, err := filepath.EvalSymlinks(node); err == nil {
		node = real
	}
	p := &npmProgram{node: node, prefix: filepath.Dir(filepath.Dir(node))}
	dirs := []string{filepath.Join(p.prefix, "lib/node_modules/npm")}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		dirs = append([]string{filepath.Dir(filepath.Dir(real))}, dirs...) // npm/bin/npm-cli.js
	}
	for _, p.dir = range dirs {
		var manifest struct{ Name, Version string }
		p.cli = filepath.Join(p.dir, "bin", "npm-cli.js")
		err := json.Unmarshal([]byte(readText(filepath.Join(p.dir, "package.json"))), &manifest)
		if err != nil || manifest.Name != "npm" || i.untrusted(p.cli) != "" {
			continue
		}
		p.version = manifest.Version
		if major, err := strconv.Atoi(strings.SplitN(p.version, ".", 2)[0]); err != nil || major < oldestNPM {
			return nil, fmt.Errorf("%s is npm %s: packages are installed with npm %d or newer, whose lock file names the whole tree. Update it: npm install --global npm", file, p.version, oldestNPM)
		}
		return p, nil
	}
	return nil, fmt.Errorf("npm's own program, npm-cli.js, was found neither where %s leads nor in %s: reinstall Node.js with npm", file, dirs[len(dirs)-1])
}

func (i *Installer) lookForNPM(paths []string) (npm, node string, err error) {
	npm, node = i.lookPath(paths, "npm"), i.lookPath(paths, "node")
	switch {
	case npm == "":
		return "", "", errors.New("npm was not found in PATH" + i.ignoredPaths() + ": it fetches the packages of npm. Install Node.js with npm, for example from your distribution (nodejs, npm)")
	case node == "":
		return "", "", fmt.Errorf("node was not found in PATH%s: %s, which fetches packages, is a program for it. Install Node.js", i.ignoredPaths(), npm)
	}
	return npm, node, nil
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

// searchPath returns the directories of PATH from which npm, node and uv may be run: what
// they say and do decides what is installed.
func (i *Installer) searchPath() (dirs []string) {
	for _, dir := range i.pathDirs() {
		if i.untrusted(dir) == "" {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

func (i *Installer) pathDirs() []string {
	if i.Host.OS == "darwin" {
		return i.Host.SearchPath()
	}
	path, _ := i.Host.Getenv("PATH")
	return slices.DeleteFunc(strings.Split(path, ":"), func(dir string) bool { return dir == "" })
}

// untrusted returns why nothing is run from a place, or "". The working directory is the workspace
// of most servers.
func (i *Installer) untrusted(file string) string {
	if !filepath.IsAbs(file) {
		return "it is relative"
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		real = filepath.Clean(file)
	}
	within := func(path, dir string) bool { return hostfs.Within(i.Host.OS, path, dir) }
	if work := i.Host.Dir; filepath.IsAbs(work) && !within(i.Host.Home, work) && (within(filepath.Clean(file), work) || within(real, work)) {
		return "servers may write to the working directory " + work
	}
	if i.Untrusted == nil {
		return ""
	}
	return i.Untrusted(file)
}

// believe returns an error if a server may write a file that decides what is installed. what is the
// beginning of the error.
func (i *Installer) believe(what, file string) error {
	if why := i.untrusted(file); why != "" {
		return fmt.Errorf("%s %s is not used: %s, and could choose there what is installed. So nothing is installed. Take that grant from the server, or keep the file where no server may write", what, file, why)
	}
	return nil
}

// ignoredPaths returns a remark for an error that names the first directory of PATH that was left
// out, and why, or "".
func (i *Installer) ignoredPaths() string {
	for _, dir := range i.pathDirs() {
		if why := i.untrusted(dir); why != "" {
			return fmt.Sprintf(" (%s is left out: %s)", dir, why)
		}
	}
	return ""
}

// lookPath returns the program of a name in the directories of searchPath, or "". It leaves out a
// link to what a server may write.
func (i *Installer) lookPath(dirs []string, name string) string {
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && i.untrusted(file) == "" {
			return file
		}
	}
	return ""
}
