package installed

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
)

const (
	maxManifest = 1 << 20 // bytes of a package.json of the project
	maxEntries  = 20000   // files and directories of a project with workspaces
)

// local returns where the project has what npx would run in place of the registry's package, or "". For a line that is
// not of the user's own it is an error, as is another registry that the project names for the package. uvx looks at
// nothing in the working directory.
func (f Finder) local(line *runline.Line) (at string, err error) {
	if line.Ecosystem() != runline.NPM {
		return "", nil
	}
	host := *f.Host
	host.Dir = line.In(host.Dir)
	at, file, err := f.inProject(line, host.Dir)
	if f.Own || err != nil {
		return at, err
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

// inProject looks in a directory and those above it for an installed package or program of a line and, unless the line is
// the user's own, for a project or a workspace of that name. It returns that, and the file of the program if it can be told.
func (f Finder) inProject(line *runline.Line, dir string) (at, file string, err error) {
	for ; ; dir = filepath.Dir(dir) {
		for _, name := range line.Names() {
			if at := filepath.Join(dir, "node_modules", filepath.FromSlash(name)); f.isThere(at) {
				text, _ := f.manifest(at)
				_, file := programAt(at, text, line)
				return at, file, nil
			}
		}
		if !f.Own {
			if at, file, err := f.source(line, dir); at != "" || err != nil {
				return at, file, err
			}
		}
		if at := filepath.Join(dir, "node_modules", ".bin", line.Local()); line.Local() != "" && f.isThere(at) {
			return at, at, nil
		}
		if dir == filepath.Dir(dir) {
			return "", "", nil
		}
	}
}

// source looks for the package of a line in a directory and, if its package.json declares workspaces, in all below it that
// npm would look at. Which of these the patterns leave out does not count: an error is better than another's package. Behind a
// link it looks at one file, since a workspace may be a link.
func (f Finder) source(line *runline.Line, dir string) (at, file string, err error) {
	text, err := f.manifest(dir)
	if err != nil {
		return "", "", err
	}
	if name, file := programAt(dir, text, line); slices.Contains(line.Names(), name) {
		return dir, file, nil
	}
	if !npm.HasWorkspaces(text) {
		return "", "", nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	left := maxEntries
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch left--; {
		case left < 0:
			return fmt.Errorf("%s has workspaces and more than %d files, too many to look for %s among them. If you want the package of the registry, add the server to your own configuration",
				show.Line(dir), maxEntries, show.Line(line.Wanted()))
		case err != nil:
			return nil // npm cannot read it either
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git"):
			return fs.SkipDir
		case e.Name() == "package.json":
			name = path.Dir(name)
		case e.Type() != fs.ModeSymlink:
			return nil
		}
		found := filepath.Join(dir, filepath.FromSlash(name))
		text, err := f.manifest(found)
		is, program := programAt(found, text, line)
		if slices.ContainsFunc(line.Names(), func(n string) bool { return n == is || is == "" && path.Base(n) == filepath.Base(found) }) {
			at, file, err = found, program, fs.SkipAll
		}
		return err
	})
	return at, file, err
}

func (f Finder) isThere(name string) bool {
	_, err := f.Host.Lstat(name)
	return err == nil
}

// manifest returns the package.json of a directory: nothing if there is none.
func (f Finder) manifest(dir string) ([]byte, error) {
	file, _ := filepath.EvalSymlinks(filepath.Join(dir, "package.json")) // npm follows a link, too
	text, _ := f.Host.ReadHead(file, maxManifest+1)                      // most directories have none
	if len(text) > maxManifest {
		return nil, fmt.Errorf("%s has more than %d bytes: mcp-jail does not read it, and npx would", show.Line(file), maxManifest)
	}
	return text, nil
}

// programAt returns the name that the package.json of a directory has, and the file of the line's program.
func programAt(dir string, manifest []byte, line *runline.Line) (name, file string) {
	name, program, bins, err := npm.ProgramOf(nil, manifest, line.Program)
	if err == nil {
		file = filepath.Join(dir, filepath.FromSlash(bins[program]))
	}
	return name, file
}
