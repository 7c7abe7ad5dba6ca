package catalog

import (
	"path/filepath"
	"strings"
)

func (s *scanner) addPythonEnv(prefix string) {
	if !s.firstTime("environment", prefix) {
		return
	}
	s.digest("environment", prefix)
	if config := filepath.Join(prefix, "pyvenv.cfg"); exists(config) {
		s.addFile(config)
	}
	for _, lib := range [...]string{"lib", "lib64", "local/lib"} {
		for _, version := range s.readDir(filepath.Join(prefix, lib)) {
			if !strings.HasPrefix(version, "python3") && !strings.HasPrefix(version, "pypy3") {
				continue
			}
			for _, kind := range [...]string{"site-packages", "dist-packages"} {
				s.addSitePackages(filepath.Join(prefix, lib, version, kind))
			}
		}
	}
}

func (s *scanner) addSitePackages(dir string) {
	s.addEntries(dir)
	for _, name := range s.readDir(dir) {
		switch {
		case strings.HasPrefix(name, "__editable__") && strings.HasSuffix(name, ".py"), strings.HasSuffix(name, ".egg-link"):
			s.fail("%s in %s leads to code that is elsewhere", name, dir)
		case strings.HasSuffix(name, ".pth"):
			// Path files lead to code elsewhere.
			text, err := s.readFile(filepath.Join(dir, name))
			if err != nil {
				s.fail("%w", err)
			}
			for _, line := range strings.Split(string(text), "\n") {
				if line = strings.TrimSpace(line); filepath.IsAbs(line) {
					s.followPth(line)
				}
			}
		}
	}
}

// followPth digests the code that a line of a path file leads to, if the server may read
// it: the server may have written the line.
func (s *scanner) followPth(line string) {
	if !s.checkBudget() {
		return
	}
	real, err := filepath.EvalSymlinks(line)
	if err != nil || !s.mayRead(real) {
		return
	}
	if fi, ok := s.lstat(real); ok && fi.IsDir() {
		s.addTree(real)
	}
}
