package catalog

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// checkEnv refuses those that lead programs to other code.
func (s *scanner) checkEnv() {
	for _, v := range s.profile.Env {
		if policy.Dangerous(v.Name) {
			s.fail("the variable %s changes which code is loaded", v.Name)
		}
	}
}

// addArguments notes what the arguments name, as the server will read them: from its
// working directory. A file counts with its content and, if it is code, with the
// package around it. Of a directory, which is most often data, it counts that it
// is the same one; those with code in them are Parts.
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
		return // names no file that the server could read
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

// rejectInlineCode refuses code that stands in the arguments: what it loads is not known.
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
			s.fail("java is given no archive")
		}
	}
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			break // from here on they are the script's
		}
		if slices.Contains(flags, a) {
			s.fail("the argument %s brings code along", a)
		}
		if a == "-m" && is("python") && i+1 < len(args) {
			s.addPythonModule(args[i+1])
			break
		}
	}
}

// addPythonModule notes a module in the working directory, which python -m searches
// before its packages.
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

// addPackageManagers notes what the programs that fetch packages may run: the project that
// they are started in, and what they have fetched into the server's HOME.
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
		s.addNodeModules(s.profile.Program[:i+len("/node_modules")]) // what was installed with -g
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

// addProject notes the project around the working directory: its manifest and, where
// its own code is run, its files.
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

// packageName is the name of the package that a package.json describes: npx runs the
// one that it stands in by its name.
func (s *scanner) packageName(file string) string {
	var manifest struct{ Name string }
	if text, err := s.readFile(file); err == nil {
		_ = json.Unmarshal(text, &manifest)
	}
	return manifest.Name
}

// envOr is the value of a variable of the server's that moves a directory.
func (s *scanner) envOr(name, preset string) string {
	for _, v := range s.profile.Env {
		if strings.EqualFold(v.Name, name) && filepath.IsAbs(v.Value) {
			return v.Value
		}
	}
	return preset
}
