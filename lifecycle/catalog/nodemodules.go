package catalog

import (
	"path/filepath"
	"strings"
)

// addNodeModules digests a node_modules: its lock file or, without one, the directory and
// package.json of each package, which package managers replace.
func (s *scanner) addNodeModules(dir string) {
	if !s.firstTime("modules", dir) || !exists(dir) {
		return
	}
	s.digest("modules", dir)
	locked := false
	for _, name := range lockFiles {
		if lock := filepath.Join(dir, name); exists(lock) {
			s.addFile(lock)
			locked = true
		}
	}
	if locked {
		return
	}
	for _, name := range s.readDir(dir) {
		path := filepath.Join(dir, name)
		if !strings.HasPrefix(name, "@") {
			s.addNodeModule(path)
			continue
		}
		for _, scoped := range s.readDir(path) {
			s.addNodeModule(filepath.Join(path, scoped))
		}
	}
}

func (s *scanner) addNodeModule(dir string) {
	s.addFile(dir)
	if manifest := filepath.Join(dir, "package.json"); exists(manifest) {
		s.addFile(manifest)
	}
}
