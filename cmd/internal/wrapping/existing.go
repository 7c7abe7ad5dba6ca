package wrapping

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/clients/plugins"
)

// existing returns the paths of a place that exist. In place of folders of which it does not look at all
// files it returns the folder. It looks at no path of a project or a plugin that leads to another machine,
// and returns it too: readPlace and Real refuse it by name.
func existing(p clients.Place, host clients.Host) (paths []string) {
	for _, at := range p.LocateAll(host) {
		paths = append(paths, existingAt(at)...)
	}
	return paths
}

func existingAt(at clients.Location) (paths []string) {
	if at.File != "" {
		if _, err := os.Stat(at.File); err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			paths = append(paths, at.File)
		}
		return paths
	}
	// fs.Glob has no **.
	if pattern, deep := strings.CutPrefix(at.Pattern, "**/"); deep {
		return inFolders(at.Dir, pattern)
	}
	matches, _ := fs.Glob(os.DirFS(at.Dir), at.Pattern) // a directory that cannot be read has none
	for _, m := range matches {
		paths = append(paths, filepath.Join(at.Dir, filepath.FromSlash(m)))
	}
	return paths
}

// readPlace reads a path of a place. A client may keep much else in its user's file. No project needs a large
// one.
func readPlace(path string, p clients.Place) (*ownfile.File, error) {
	if (p.Format == clients.JSON || p.Format == clients.JSONC) && p.Scope != clients.Project {
		return ownfile.ReadLarge(path)
	}
	return ownfile.Read(path)
}

// Above returns the directories above a project, from the nearest to the root, and how many of them
// belong to its repository, or -1 if it is in none.
func Above(project string) (dirs []string, repo int) {
	repo = -1
	for dir := project; ; {
		// .git is a file in a worktree and a submodule.
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && repo < 0 {
			repo = len(dirs)
		}
		parent := filepath.Dir(dir)
		if parent == dir || project == "" {
			return dirs, repo
		}
		dir = parent
		dirs = append(dirs, dir)
	}
}

// mostFiles bounds the files that are looked at in the folders of a place.
const mostFiles = 2000

// inFolders returns the files in a directory, and in the folders below it, whose names match a
// pattern. In place of what it does not look at it returns the folder: it looks at a bounded number
// of files, and follows links to files alone. A folder that mcp-jail may not read has no files for a
// client of the same user either.
func inFolders(dir, pattern string) (paths []string) {
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if seen++; seen > mostFiles {
			paths = append(paths, dir)
			return fs.SkipAll
		}
		matches, _ := filepath.Match(pattern, entry.Name())
		info, err := os.Stat(path)
		isDir := err == nil && info.IsDir()
		if isDir && entry.Type()&fs.ModeSymlink != 0 || matches && !isDir {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// pluginsOf returns the plugins of a client.
func pluginsOf(c clients.Client, host clients.Host) []*plugins.Plugin {
	return plugins.Find(c, host, plugins.Look{
		Find: existing,
		Real: filepath.EvalSymlinks,
		Read: func(path string) ([]byte, error) {
			file, err := ownfile.Read(path)
			if err != nil {
				return nil, err
			}
			return file.Data, nil
		},
	})
}
