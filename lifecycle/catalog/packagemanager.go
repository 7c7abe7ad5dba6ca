package catalog

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

func (s *scanner) checkEnv() {
	for _, v := range s.profile.Env {
		if policy.IsDangerousVariable(v.Name) {
			s.fail("the variable %s changes which code is loaded", v.Name)
		}
	}
}

// addArguments digests the files that arguments name, relative to the server's working
// directory. A file of code is digested with the package around it. A directory, which is
// mostly data, is digested by its identity only; directories with code are Parts.
func (s *scanner) addArguments(kinds []string) {
	if len(s.profile.Argv) == 0 {
		return
	}
	args := s.profile.Argv[1:]
	if baseName(s.profile.Argv[0]) == "env" {
		args = args[slices.IndexFunc(args, func(a string) bool { return runtimeOf(baseName(a)) != "" })+1:]
	}
	s.rejectInlineCode(kinds, args)
	for _, a := range args {
		_, value, _ := strings.Cut(a, "=")
		for _, name := range [...]string{a, value} {
			if name != "" {
				s.addArgument(kinds, name)
			}
		}
	}
}

func (s *scanner) addArgument(kinds []string, name string) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.profile.Dir, name)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil || !s.firstTime("argument", name) {
		return // no file has this name, or it was digested already
	}
	switch fi, ok := s.addFile(name); {
	case !ok:
	case !fi.IsDir():
		if s.isScript(real) {
			s.addPackageOf(real)
		}
	case exists(filepath.Join(real, "package.json")) && slices.ContainsFunc(kinds, func(k string) bool { return k == "npx" || k == "npm" || k == "bun" || k == "bunx" }):
		s.addTree(real) // npx DIR
	}
}

func (s *scanner) rejectInlineCode(kinds, args []string) {
	is := func(kind string) bool { return slices.Contains(kinds, kind) }
	var flags []string
	switch {
	case is("python"):
		flags = []string{"-c"}
	case is("npx"), is("npm"):
		flags = []string{"-c", "--call"}
	case is("node"), is("bun"):
		flags = []string{"-e", "--eval", "-p", "--print", "-pe"}
	case is("java"):
		flags = []string{"-cp", "-classpath", "--class-path", "-p", "--module-path"}
		if !slices.Contains(args, "-jar") {
			s.fail("java runs without -jar ARCHIVE")
		}
	}
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			break // the rest are arguments of the script
		}
		if slices.Contains(flags, a) {
			s.fail("the argument %s adds code", a)
		}
		if a == "-m" && is("python") && i+1 < len(args) {
			s.addPythonModule(args[i+1])
			break
		}
	}
}

func (s *scanner) addPythonModule(name string) {
	top, _, _ := strings.Cut(name, ".")
	if strings.ContainsRune(top, '/') || top == "" {
		return
	}
	dir := filepath.Join(s.profile.Dir, top)
	s.addFile(dir + ".py")
	if fi, ok := s.addFile(dir); ok && fi.IsDir() {
		s.addTree(dir)
	}
}

func (s *scanner) addPackageManagers(kinds []string) {
	for _, kind := range kinds {
		switch kind {
		case "npx", "npm":
			s.addNPM(kind == "npm")
		case "bun", "bunx":
			s.addProject("package.json", kind == "bun")
			s.addEntries(filepath.Join(s.profile.Home, ".bun/install/cache"))
			s.addNodeModules(filepath.Join(s.profile.Home, ".bun/install/global/node_modules"))
		case "uv", "uvx":
			s.addUV(kind == "uv")
		case "python":
			s.addPythonEnv(filepath.Join(s.profile.Home, ".local")) // pip install --user
		}
	}
}

func (s *scanner) addNPM(runs bool) {
	s.addProject("package.json", runs)
	if i := strings.LastIndex(s.profile.Program, "/node_modules/npm/"); i >= 0 {
		s.addNodeModules(s.profile.Program[:i+len("/node_modules")]) // packages that were installed with -g
	}
	fetched := filepath.Join(s.envOr("npm_config_cache", filepath.Join(s.profile.Home, ".npm")), "_npx")
	for _, name := range s.readDir(fetched) {
		s.addFile(filepath.Join(fetched, name, "package.json"))
		s.addNodeModules(filepath.Join(fetched, name, "node_modules"))
	}
}

func (s *scanner) addUV(runs bool) {
	if runs {
		s.addProject("pyproject.toml", true)
	}
	home := s.profile.Home
	cache := s.envOr("UV_CACHE_DIR", filepath.Join(s.envOr("XDG_CACHE_HOME", filepath.Join(home, ".cache")), "uv"))
	for _, name := range s.readDir(cache) {
		if strings.HasPrefix(name, "archive-v") || strings.HasPrefix(name, "environments-v") {
			s.addEntries(filepath.Join(cache, name))
		}
	}
	data := filepath.Join(s.envOr("XDG_DATA_HOME", filepath.Join(home, ".local/share")), "uv")
	s.addEntries(filepath.Join(data, "python"))
	tools := s.envOr("UV_TOOL_DIR", filepath.Join(data, "tools"))
	for _, name := range s.readDir(tools) {
		s.addPythonEnv(filepath.Join(tools, name))
	}
}

func (s *scanner) addProject(manifest string, runs bool) {
	for _, dir := range s.parents(s.profile.Dir) {
		file := filepath.Join(dir, manifest)
		if !exists(file) {
			continue
		}
		s.addFile(file)
		if name := s.packageName(file); runs || name != "" && slices.ContainsFunc(s.profile.Argv, func(a string) bool { return a == name || strings.HasPrefix(a, name+"@") }) {
			s.addTree(dir)
		}
		break
	}
	s.addHoistedModules(s.profile.Dir)
}

func (s *scanner) packageName(file string) string {
	var manifest struct{ Name string }
	if text, err := s.readFile(file); err == nil {
		_ = json.Unmarshal(text, &manifest)
	}
	return manifest.Name
}

func (s *scanner) envOr(name, preset string) string {
	for _, v := range s.profile.Env {
		if strings.EqualFold(v.Name, name) && filepath.IsAbs(v.Value) {
			return v.Value
		}
	}
	return preset
}

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
