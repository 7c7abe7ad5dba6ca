package wrapping

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
)

// blind is a file from which a client takes servers, and which mcp-jail does not read.
type blind struct {
	Client clients.Client
	Path   string
	Why    string
	Starts bool // it is known to start a server
}

// Unread returns the files of a selection's clients that exist and are not read, and the servers of
// their plugins that are in no file. A selection of files has none.
func Unread(host clients.Host, sel Selection) (all []blind) {
	if len(sel.Files) > 0 {
		return nil
	}
	of := slices.DeleteFunc(clients.All(), func(c clients.Client) bool { return !sel.selects(c) })
	read := map[string]bool{} // in spite of where they are
	var named []blind
	for _, c := range of {
		for _, p := range pluginsOf(c, host) {
			for _, f := range p.Files {
				read[f.Path] = true
			}
			for _, n := range p.Named {
				named = append(named, blind{Client: c, Path: n.What, Why: "of " + p.Title() + ": " + n.Why, Starts: p.Off == ""})
			}
		}
	}
	for _, c := range of {
		for _, b := range blindOf(c) {
			for _, path := range existing(b.Place, host) {
				if read[path] || !mentions(path, b) {
					continue
				}
				starts := b.Word == clients.Providers
				if all = append(all, blind{Client: c, Path: path, Why: b.Why, Starts: starts}); !starts {
					break // one stands for all of its kind
				}
			}
		}
	}
	return append(all, named...)
}

// selects reports whether the selection means the files of a client.
func (s Selection) selects(c clients.Client) bool {
	return len(s.Clients) == 0 || slices.ContainsFunc(s.Clients, func(name string) bool {
		chosen, err := clients.ByName(name)
		return err == nil && chosen.Name == c.Name
	})
}

// blindOf returns the files of a client that are not read. Those of the system and of administrators
// are among them.
func blindOf(c clients.Client) []clients.Blind {
	all := c.Blind
	for _, p := range c.Places {
		switch p.Scope {
		case clients.System:
			all = append(all, clients.Blind{Place: p, Why: "it is for all users"})
		case clients.Managed:
			all = append(all, clients.Blind{Place: p, Why: "it comes from an administrator"})
		}
	}
	return all
}

// escapes are how YAML, TOML and JSON begin the code of a character.
var escapes = [][]byte{[]byte(`\u`), []byte(`\U`), []byte(`\x`), []byte("\\\n"), []byte("\\\r")}

// mentions reports whether a file has a word. One that cannot be read may have it, and so may one of
// a project that spells characters by their codes.
func mentions(path string, b clients.Blind) bool {
	if b.Word == "" {
		return true
	}
	file, err := readPlace(filepath.Clean(path), b.Place)
	return err != nil || bytes.Contains(file.Data, []byte(b.Word)) ||
		b.Place.Scope == clients.Project && slices.ContainsFunc(escapes, func(code []byte) bool { return bytes.Contains(file.Data, code) })
}

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
func pluginsOf(c clients.Client, host clients.Host) []*clients.Plugin {
	return clients.FindPlugins(c, host, clients.PluginLook{
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
