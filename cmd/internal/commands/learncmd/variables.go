package learncmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// Bounds of the search for the names of variables in a program.
const (
	maxSources     = 2000
	maxSourceBytes = 16 << 20
	maxSourceFile  = 1 << 20
)

// ownDirs returns the directories with the server's own files: those of its project, and of an installed package
// the directory of the package that is started, without those beside it.
func ownDirs(p *policy.Profile) (dirs []string) {
	for _, part := range p.Parts {
		if part.Work {
			dirs = append(dirs, part.Path)
		}
	}
	const modules = "/node_modules/"
	for _, word := range p.Argv {
		if real, err := filepath.EvalSymlinks(word); err == nil {
			word = real
		}
		at := strings.LastIndex(word, modules)
		if at < 0 || !filepath.IsAbs(word) {
			continue
		}
		names := strings.SplitN(word[at+len(modules):], "/", 3)
		n := 1
		if strings.HasPrefix(names[0], "@") {
			n = min(2, len(names))
		}
		dirs = append(dirs, filepath.Join(word[:at+len(modules)], filepath.Join(names[:n]...)))
	}
	return slices.Compact(dirs)
}

// mentioned returns the variables that the server's own files read: not those of the packages that it uses,
// which are many.
func mentioned(p *policy.Profile) (names []string) {
	files, bytes := 0, 0
	for _, root := range ownDirs(p) {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case files >= maxSources || bytes >= maxSourceBytes:
				return fs.SkipAll
			case d.IsDir():
				if path != root && (d.Name() == "node_modules" || d.Name() == "site-packages") {
					return fs.SkipDir
				}
				return nil
			case !d.Type().IsRegular() || !slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".py"}, strings.ToLower(filepath.Ext(path))):
				return nil
			}
			info, err := d.Info()
			if err != nil || info.Size() > maxSourceFile {
				return nil
			}
			source, err := os.ReadFile(path)
			if err == nil {
				files, bytes = files+1, bytes+len(source)
				names = append(names, learn.Mentions(source)...)
			}
			return nil
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}
