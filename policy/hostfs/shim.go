package hostfs

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Unshim returns the program for which a shim stands that a version manager has put into PATH, and whether
// the file is one. No shim is run: the files of its manager say what it would start. program is "" if no
// version is installed that the shim could start. dir is the working directory, and after has the
// directories of PATH after the shim's.
func (f *LinkResolver) Unshim(file, dir string, after []string) (program string, isShim bool) {
	bin := path.Dir(file)
	s := shim{LinkResolver: f, name: path.Base(file), root: path.Dir(bin), dir: dir, after: after}
	volta, _ := f.host.UserEnv("VOLTA_HOME")
	switch path.Base(bin) {
	case "shims":
		if f.Exists(path.Join(s.root, "versions")) {
			return s.versions(), true
		}
		if f.Exists(path.Join(s.root, "installs")) {
			return s.installs(file), true
		}
	case "bin":
		if !strings.HasPrefix(s.name, "volta") && (s.root == volta || path.Base(s.root) == ".volta") && f.Exists(path.Join(s.root, "tools")) {
			return s.volta(), true
		}
	}
	return "", false
}

// A shim is a program of a version manager that starts another one of its name.
type shim struct {
	*LinkResolver
	name, root, dir string
	after           []string
}

// relatives are pyenv and its like, with what they install and the variable that chooses a version.
var relatives = map[string]struct{ language, variable string }{
	"pyenv": {"python", "PYENV_VERSION"}, "rbenv": {"ruby", "RBENV_VERSION"}, "nodenv": {"node", "NODENV_VERSION"}, "goenv": {"go", "GOENV_VERSION"},
	"plenv": {"perl", "PLENV_VERSION"}, "phpenv": {"php", "PHPENV_VERSION"}, "jenv": {"java", "JENV_VERSION"},
}

// versions is about pyenv and its relatives, which keep each version in a directory of versions.
func (s *shim) versions() string {
	manager, known := relatives[strings.TrimPrefix(path.Base(s.root), ".")]
	if !known {
		manager = relatives["pyenv"]
	}
	chosen, _ := s.host.Getenv(manager.variable)
	wanted := strings.FieldsFunc(chosen, func(r rune) bool { return r == ':' })
	for _, text := range []string{s.nearest("." + manager.language + "-version"), s.read(path.Join(s.root, "version")), "system"} {
		if len(wanted) == 0 {
			wanted = strings.Fields(text)
		}
	}
	for _, version := range wanted {
		if version == "system" {
			for _, dir := range s.after { // a shim there might lead back to this one
				if p := path.Join(dir, s.name); path.Base(dir) != "shims" && s.IsProgram(p) {
					return p
				}
			}
		}
		if p := s.installed("versions", version); p != "" {
			return p
		}
	}
	return ""
}

// installs is about asdf, whose shim is a script that lists plugins and versions, and about mise, whose shim
// is a link to mise itself.
func (s *shim) installs(file string) string {
	all := s.list("installs")
	listed := map[string][]string{} // by a shim of asdf, with the last one first
	var plugins []string
	for line := range strings.Lines(s.read(file)) {
		if f := strings.Fields(line); len(f) >= 4 && f[0] == "#" && f[1] == "asdf-plugin:" && slices.Contains(all, f[2]) {
			listed[f[2]] = append([]string{f[3]}, listed[f[2]]...)
			plugins = append(plugins, f[2])
		}
	}
	if len(plugins) == 0 {
		plugins = all
	}
	for _, plugin := range plugins {
		for _, version := range append(append(s.toolVersions(plugin), listed[plugin]...), "latest", "") {
			if p := s.installed("installs/"+plugin, version); p != "" {
				return p
			}
		}
	}
	return ""
}

// toolVersions returns the versions that a variable or a .tool-versions has for a plugin. That of node has
// two names.
func (s *shim) toolVersions(plugin string) []string {
	names := []string{plugin}
	if plugin == "node" || plugin == "nodejs" {
		names = []string{"node", "nodejs"}
	}
	for _, name := range names {
		for _, variable := range [...]string{"ASDF_*_VERSION", "MISE_*_VERSION"} {
			if v, _ := s.host.Getenv(strings.Replace(variable, "*", strings.ToUpper(name), 1)); v != "" {
				return strings.Fields(v)
			}
		}
	}
	for _, text := range []string{s.nearest(".tool-versions"), s.read(path.Join(s.host.Home, ".tool-versions"))} {
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			if f := strings.Fields(line); len(f) > 1 && slices.Contains(names, f[0]) {
				return f[1:]
			}
		}
	}
	return nil
}

// volta is about volta, which keeps versions of node, and packages.
func (s *shim) volta() string {
	var project struct{ Volta struct{ Node string } }
	var user struct{ Node struct{ Runtime string } }
	_ = json.Unmarshal([]byte(s.nearest("package.json")), &project) // what cannot be read chooses nothing
	_ = json.Unmarshal([]byte(s.read(path.Join(s.root, "tools/user/platform.json"))), &user)
	for _, version := range []string{project.Volta.Node, user.Node.Runtime} {
		if version != "" {
			if p := s.installed("tools/image/node", version); p != "" {
				return p
			}
		}
	}
	return s.installed("tools/image/packages", "")
}

// installed returns the program of the newest version in a directory of the manager that fits: 3.11 means
// every 3.11.x, and "" every version.
func (s *shim) installed(dir, wanted string) string {
	names := s.list(dir)
	if slices.Contains(names, wanted) {
		names = []string{wanted}
	}
	for _, version := range NewestFirst(names) {
		bare := strings.TrimPrefix(version, "v")
		if w := strings.TrimPrefix(wanted, "v"); w != "" && bare != w && !strings.HasPrefix(bare, w+".") {
			continue
		}
		for _, bin := range [...]string{"bin", "."} {
			if p := path.Join(s.root, dir, version, bin, s.name); s.IsProgram(p) {
				return p
			}
		}
	}
	return ""
}

// nearest returns the text of the file of a name in the working directory, or else of the first directory
// above it that has one.
func (s *shim) nearest(name string) string {
	for dir := range Upward(s.dir) {
		if text := s.read(path.Join(dir, name)); strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// read returns the text of a small file.
func (s *shim) read(file string) string {
	at, err := s.Resolve(file)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return ""
	}
	text, _ := s.host.ReadHead(at.Path, 64<<10)
	return string(text)
}

func (s *shim) list(dir string) []string {
	names, _ := s.Names(s.Canonical(path.Join(s.root, dir)))
	return names
}

// IsProgram reports whether a path leads to a file that can be started.
func (f *LinkResolver) IsProgram(file string) bool {
	at, err := f.Resolve(file)
	return err == nil && at.Exists() && at.Info.Mode.IsRegular() && at.Info.Mode&0o111 != 0
}

// NewestFirst sorts names of versions by the numbers in them.
func NewestFirst(names []string) []string {
	numbers := func(name string) (all []int) {
		for digits := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(digits)
			all = append(all, n)
		}
		return all
	}
	slices.SortFunc(names, func(a, b string) int {
		if c := slices.Compare(numbers(b), numbers(a)); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return names
}
