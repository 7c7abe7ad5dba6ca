package runtime

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// shimOf returns the kind of version manager whose shim a file of PATH is, or "": "versions"
// for pyenv and nodenv, "installs" for asdf and mise, "volta".
func (s *search) shimOf(file string) string {
	dir := path.Dir(file)
	root := path.Dir(dir)
	volta, _ := s.Host.Getenv("VOLTA_HOME")
	switch {
	case path.Base(dir) == "shims" && s.paths.Exists(path.Join(root, "versions")):
		return "versions"
	case path.Base(dir) == "shims" && s.paths.Exists(path.Join(root, "installs")):
		return "installs"
	case path.Base(dir) == "bin" && (path.Base(root) == ".volta" || root == volta) && s.paths.Exists(path.Join(root, "tools")):
		return "volta"
	}
	return ""
}

// unshim returns the program that a shim would start in the working directory of the host,
// or "" if that is not known. after are the directories of PATH after the shim's.
func (s *search) unshim(kind, file string, after []string) string {
	root, name := path.Dir(path.Dir(file)), path.Base(file)
	var wanted []string
	base := path.Join(root, "versions")
	switch kind {
	case "volta":
		base = path.Join(root, "tools/image/node")
		wanted = s.voltaVersion(root)
	case "versions":
		wanted = s.envVersions(root)
	case "installs":
		plugins := []string{"python"}
		if s.found.Language == Node {
			plugins = []string{"nodejs", "node"}
		}
		for _, plugin := range plugins {
			if base = path.Join(root, "installs", plugin); s.paths.Exists(base) {
				wanted = s.toolVersions(plugin)
				break
			}
		}
	}
	// The names come in the order of preference; the first that is installed starts.
	for _, w := range wanted {
		if w == "system" {
			for _, dir := range after {
				// A shim there might lead back to this one.
				if p := path.Join(dir, name); s.isProgram(p) && s.shimOf(p) == "" {
					return p
				}
			}
			continue
		}
		for _, v := range installed(s.list(base), w) {
			if p := path.Join(base, v, "bin", name); s.isProgram(p) {
				return p
			}
		}
	}
	return ""
}

func installed(versions []string, wanted string) []string {
	wanted = strings.TrimPrefix(wanted, "v")
	return newestFirst(slices.DeleteFunc(versions, func(v string) bool {
		v = strings.TrimPrefix(v, "v")
		return v != wanted && !strings.HasPrefix(v, wanted+".")
	}))
}

// envVersions returns what pyenv or nodenv is set to: by a variable, by a file of the
// working directory or one above it, or by the global file. Without any it is "system".
func (s *search) envVersions(root string) []string {
	variable, file := "PYENV_VERSION", ".python-version"
	if s.found.Language == Node {
		variable, file = "NODENV_VERSION", ".node-version"
	}
	if v, _ := s.Host.Getenv(variable); v != "" {
		return strings.Split(v, ":")
	}
	for _, text := range []string{s.nearest(file), s.read(path.Join(root, "version"))} {
		if versions := strings.Fields(text); len(versions) > 0 {
			return versions
		}
	}
	return []string{"system"}
}

func (s *search) toolVersions(plugin string) []string {
	for _, name := range [...]string{"ASDF_*_VERSION", "MISE_*_VERSION"} {
		if v, _ := s.Host.Getenv(strings.Replace(name, "*", strings.ToUpper(plugin), 1)); v != "" {
			return strings.Fields(v)
		}
	}
	names := []string{plugin}
	if s.found.Language == Node {
		names = []string{"nodejs", "node"}
	}
	for _, text := range []string{s.nearest(".tool-versions"), s.read(path.Join(s.Host.Home, ".tool-versions"))} {
		for line := range strings.SplitSeq(text, "\n") {
			line, _, _ = strings.Cut(line, "#")
			if f := strings.Fields(line); len(f) > 1 && slices.Contains(names, f[0]) {
				return f[1:]
			}
		}
	}
	return nil
}

// voltaVersion returns the version of node that volta starts: the pin of the nearest
// package.json, or the default.
func (s *search) voltaVersion(root string) []string {
	var project struct{ Volta struct{ Node string } }
	if json.Unmarshal([]byte(s.nearest("package.json")), &project) == nil && project.Volta.Node != "" {
		return []string{project.Volta.Node}
	}
	var platform struct{ Node struct{ Runtime string } }
	_ = json.Unmarshal([]byte(s.read(path.Join(root, "tools/user/platform.json"))), &platform) // if it cannot be read, there is no default
	if platform.Node.Runtime == "" {
		return nil
	}
	return []string{platform.Node.Runtime}
}

func (s *search) nearest(name string) string {
	for dir := s.Host.Dir; path.IsAbs(dir); dir = path.Dir(dir) {
		if text := s.read(path.Join(dir, name)); strings.TrimSpace(text) != "" {
			return text
		}
		if dir == path.Dir(dir) {
			break
		}
	}
	return ""
}
