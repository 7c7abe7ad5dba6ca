package installed

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// maxManifest bounds what is read of a package.json of the project.
const maxManifest = 1 << 20

// local returns where the project has what npx would run in place of the registry's package, or "". For a line that is
// not of the user's own it is an error, as is another registry that the project names for the package. uvx looks at
// nothing in the working directory.
func (f Finder) local(line *runline.Line) (at string, err error) {
	if line.Ecosystem() != runline.NPM {
		return "", nil
	}
	host := *f.Host
	host.Dir = line.In(host.Dir)
	at, file := f.inProject(line, host.Dir)
	if f.Own {
		return at, nil
	}
	if at != "" {
		text := fmt.Sprintf("%s runs %s, which is in the project, and not a package of the registry.", line.Launcher, show.Line(at))
		if file == "" {
			return "", fmt.Errorf("%s No program of it was found there. Build it, and write its path in place of the package", text)
		}
		words := append([]string{file}, line.Args...)
		if slices.Contains([]string{".js", ".mjs", ".cjs"}, path.Ext(file)) {
			words = append([]string{string(Node)}, words...)
		}
		return "", fmt.Errorf("%s To start that, write its path: `%s`", text, show.Spelled(words))
	}
	for _, p := range line.Packages {
		if err := (sources.Reader{Host: &host}).CheckProject(p.Name); err != nil {
			return "", err
		}
	}
	return "", nil
}

// inProject looks in a directory and those above it for an installed package or program of a line, for a workspace of
// that name, and for a project of that name. It returns that, and the file of the program if it can be told.
func (f Finder) inProject(line *runline.Line, dir string) (at, file string) {
	for ; ; dir = filepath.Dir(dir) {
		for _, name := range line.Names() {
			if at := filepath.Join(dir, "node_modules", filepath.FromSlash(name)); f.isThere(at) {
				_, file := f.packageAt(at, line)
				return at, file
			}
			for _, at := range append([]string{dir}, f.workspaces(dir)...) {
				if is, file := f.packageAt(at, line); is == name {
					return at, file
				}
			}
		}
		if at := filepath.Join(dir, "node_modules", ".bin", line.Local()); line.Local() != "" && f.isThere(at) {
			return at, at
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}

func (f Finder) isThere(name string) bool {
	_, err := f.Host.Lstat(name)
	return err == nil
}

func (f Finder) manifest(dir string) []byte {
	file, _ := filepath.EvalSymlinks(filepath.Join(dir, "package.json")) // npm follows a link, too
	text, _ := f.Host.ReadHead(file, maxManifest)                        // most directories have none
	return text
}

// packageAt returns the name of the package in a directory, and the file of the line's program.
func (f Finder) packageAt(dir string, line *runline.Line) (name, file string) {
	name, program, bins, err := npm.ProgramOf(f.manifest(dir), line.Program)
	if err == nil {
		file = filepath.Join(dir, filepath.FromSlash(bins[program]))
	}
	return name, file
}

// workspaces returns the directories of a project's workspaces.
func (f Finder) workspaces(dir string) (all []string) {
	for _, pattern := range npm.Workspaces(f.manifest(dir)) {
		for _, depth := range []string{"*", "*/*", "*/*/*"} {
			some := strings.ReplaceAll(pattern, "**", depth)
			if filepath.IsLocal(some) {
				all = append(all, hostfs.Glob("")(filepath.Join(dir, filepath.FromSlash(some)))...)
			}
			if some == pattern {
				break
			}
		}
	}
	return all
}
