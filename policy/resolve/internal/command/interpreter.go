package command

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// addInstallation adds the installation that contains a runtime: the parent of bin/
// (docs/policy.md "Runtime baseline"). chosen reports that the server named the file; then
// a virtual environment may be another project's, and is left out.
func (c *Resolver) addInstallation(file string, chosen bool) {
	if places.InBaseline(c.H.OS, file) || chosen && !c.isServerWritable(file) && c.Paths.Exists(path.Join(path.Dir(path.Dir(file)), "pyvenv.cfg")) {
		return
	}
	// Package managers that keep libraries apart from programs.
	if policy.Within(file, "/nix/store") {
		c.AddDependency("/nix/store", "the nix store", false)
		return
	}
	if i := strings.Index(file, "/Cellar/"); i > 0 && !c.isGuarded(file[:i]) {
		c.addHomebrew(file[:i])
		return
	}
	lang, dir := policy.InterpreterFamily(path.Base(file)), path.Dir(file)
	if (path.Base(file) == "uvx" || path.Base(file) == "uv") && c.Paths.Exists(path.Join(dir, "uv")) {
		c.AddDependency(path.Join(dir, "uv"), "the program uv", false) // uvx starts the uv beside it
	}
	if lang == "" || path.Base(dir) != "bin" {
		return
	}
	// The runtime finds its library beside its bin.
	prefix := path.Dir(dir)
	if !c.isGuarded(prefix) {
		c.AddDependency(prefix, "the installation of "+path.Base(file), false)
		return
	}
	if lang == "python" {
		// ~/.local/bin/python3.12 keeps its library in ~/.local/lib/python3.12.
		if lib := path.Join(prefix, "lib", path.Base(file)); c.Paths.Exists(lib) {
			c.AddDependency(lib, "the library of "+path.Base(file), false)
		}
	}
}

func (c *Resolver) addHomebrew(prefix string) {
	const rule = "the Homebrew prefix"
	if c.H.OS != "darwin" {
		c.AddDependency(prefix, rule, false)
		return
	}
	programs, data := places.Prefix(prefix)
	for _, dir := range programs {
		c.AddDependency(dir, rule, false)
	}
	for _, dir := range data {
		c.Dependencies = append(c.Dependencies, Dependency{Path: dir, Rule: rule, Data: true})
	}
}

// addVirtualEnvironment adds a Python virtual environment. Python finds its packages by the
// name that it was started by, so the directory around every link on the way counts. After
// a link that a server may have made, only directories in its own places count.
func (c *Resolver) addVirtualEnvironment(found string, at hostfs.ResolvedPath, chosen bool) {
	try := func(name string) {
		env := path.Dir(path.Dir(name))
		if chosen && !c.isServerWritable(env) || env == "/" || places.InBaseline(c.H.OS, env) || !c.Paths.Exists(path.Join(env, "pyvenv.cfg")) || c.isGuarded(env) {
			return
		}
		c.AddDependency(env, "the virtual environment of "+path.Base(found), false)
		c.Environments = append(c.Environments, env)
	}
	try(found)
	if dir, err := c.Paths.Resolve(path.Dir(found)); err == nil && c.escapingLink(dir) == nil {
		try(path.Join(dir.Path, path.Base(found)))
	}
	for _, l := range at.Links {
		try(l.Path)
		chosen = chosen || c.isServerWritable(l.Path)
	}
	try(at.Path)
}

// isGuarded reports whether a dependency must not be widened to a directory: it is "/" or one
// of sharedPlaces; it is or contains the home directory, a directory of mcp-jail or a sensitive
// path; or it lies inside a sensitive path.
func (c *Resolver) isGuarded(dir string) bool {
	if dir == "/" || slices.Contains(sharedPlaces, dir) || c.H.OS == "darwin" && (slices.Contains(sharedOfMac, dir) || path.Dir(dir) == "/Volumes") {
		return true
	}
	for _, g := range c.NeverWiden {
		if policy.Within(g, dir) {
			return true
		}
	}
	for _, g := range c.SensitiveDirs {
		if policy.Within(g, dir) || policy.Within(dir, g) {
			return true
		}
	}
	return false
}

// sharedPlaces contain the files of many programs, so no program needs one of them as a
// whole.
var sharedPlaces = []string{"/opt", "/srv", "/tmp", "/var", "/var/tmp", "/var/lib", "/home", "/Users", "/mnt", "/media", "/etc", "/run", "/dev", "/proc", "/sys", "/private", "/private/tmp", "/Applications", "/Library", "/opt/homebrew/bin"}

// sharedOfMac are more such places of macOS.
var sharedOfMac = []string{"/opt/homebrew", "/opt/local", "/usr/local", "/Users/Shared", "/Volumes", "/System", "/System/Volumes", "/System/Volumes/Data", "/Library/Application Support", "/private/etc", "/private/var", "/private/var/tmp", "/private/var/folders"}

// resolveArguments looks for a script among the arguments of an interpreter: `node
// /srv/app/dist/index.js DIR` needs the package around index.js.
func (c *Resolver) resolveArguments(name, found string, args []string, depth int) {
	if wrapper.Is(name) {
		c.resolveWrapped(name, args, depth)
		return
	}
	switch name {
	case "uv", "uvx":
		c.addProject(name, args, "--directory", "--project")
		return
	case "poetry":
		c.addProject(name, args, "--directory", "-C", "--project", "-P")
		return
	case "go", "cargo":
		c.addProject(name, args, "-C")
		return
	}
	// A shim or link may hide the real name: /opt/x/bin/python -> /usr/bin/pypy.
	lang := policy.InterpreterFamily(name)
	if lang == "" {
		lang = policy.InterpreterFamily(path.Base(found))
	}
	if lang == "" && !policy.IsShell(name) {
		return
	}
	c.addScriptArgument(lang, name, args)
}

// resolveWrapped collects what the program needs that env, timeout or the like starts.
func (c *Resolver) resolveWrapped(name string, args []string, depth int) {
	w, err := wrapper.Parse(name, append([]string{name}, args...))
	program, inner := "", w.Inner
	switch {
	case err == nil && len(inner) > 0:
		program, inner = inner[0], inner[1:]
	case err != nil && name == "env":
		if program = EnvProgram(args); program == "" || !slices.Contains(args, program) {
			return
		}
		inner = args[slices.Index(args, program)+1:]
	default:
		return
	}
	if w.Dir != "" {
		defer func(dir string) { c.WorkDir = dir }(c.WorkDir)
		if c.addDirectory(w.Dir, "the directory that env starts the server in"); path.IsAbs(w.Dir) {
			c.WorkDir = path.Clean(w.Dir)
		} else {
			c.WorkDir = path.Join(c.WorkDir, w.Dir)
		}
	}
	if file, err := c.Locate(program); err == nil {
		_, _ = c.resolveProgram(program, file, inner, depth+1, false) // the wrapper reports a missing program
	}
}

// AddToolScript adds the script that the user's arguments name for an installed package that is itself
// an interpreter, such as tsx. args are those of the program that starts the package.
func (c *Resolver) AddToolScript(args []string) {
	i := slices.IndexFunc(args, func(a string) bool { return policy.Within(a, c.Tree) })
	if i < 0 {
		return
	}
	in := args[i][strings.LastIndex(args[i], "/node_modules/")+1:]
	name, _, _ := strings.Cut(strings.TrimPrefix(in, "node_modules/"), "/")
	if lang := policy.InterpreterFamily(name); lang != "" {
		c.addScriptArgument(lang, lang, args[i+1:])
	}
}

func (c *Resolver) addScriptArgument(lang, name string, args []string) {
	script := policy.ScriptArgument(lang, args)
	if script == "" {
		return
	}
	if !strings.HasPrefix(script, "/") {
		script = path.Join(c.WorkDir, script)
	}
	if lang == "node" && !c.Paths.Exists(script) { // node adds a missing extension
		for _, try := range [...]string{script + ".js", script + ".cjs", script + ".mjs"} {
			if c.Paths.Exists(try) {
				script = try
				break
			}
		}
	}
	at, err := c.Paths.Resolve(script)
	if err != nil || !at.Exists() || c.escapesWorkspace(at) {
		return
	}
	c.Links = append(c.Links, at.Links...)
	if at.Info.Mode.IsDir() {
		if lang == "node" || lang == "python" { // node DIR, python DIR
			c.addScriptPackage(name, path.Join(at.Path, "index"))
		}
		return
	}
	c.addScriptPackage(name, at.Path)
}

// addProject adds the project that an option of a launcher names, as `uv --directory DIR run SCRIPT`
// does, which is how most Python servers are configured.
func (c *Resolver) addProject(launcher string, args []string, options ...string) {
	for i, a := range args {
		option, dir, ok := strings.Cut(a, "=")
		if !ok && i+1 < len(args) {
			dir, ok = args[i+1], true
		}
		if !ok || !slices.Contains(options, option) {
			continue
		}
		if dir = c.addDirectory(dir, "the project that "+launcher+" starts"); dir != "" && launcher != "go" && launcher != "cargo" {
			c.Environments = append(c.Environments, path.Join(dir, ".venv"))
		}
	}
}

// addDirectory adds a directory that a command line names, and returns its canonical path. It returns
// "" if the directory is not there, or must not be granted as a whole.
func (c *Resolver) addDirectory(dir, rule string) string {
	if !strings.HasPrefix(dir, "/") {
		dir = path.Join(c.WorkDir, dir)
	}
	at, err := c.Paths.Resolve(dir)
	if err != nil || !at.Exists() || !at.Info.Mode.IsDir() || c.isGuarded(at.Path) || c.escapesWorkspace(at) {
		return ""
	}
	c.Links = append(c.Links, at.Links...)
	c.AddDependency(at.Path, rule, true)
	return at.Path
}

// addScriptPackage adds the package of an interpreted script: for JavaScript the nearest
// ancestor with a package.json, widened to the outermost node_modules because
// dependencies are hoisted there; for others the script's own directory, which
// is where they look for the files beside it.
func (c *Resolver) addScriptPackage(interpreter, file string) {
	c.AddDependency(file, "the script "+path.Base(file), false)
	if places.InBaseline(c.H.OS, file) {
		return
	}
	dir := path.Dir(file)
	switch lang := policy.InterpreterFamily(interpreter); {
	case lang == "node" || lang == "bun" || lang == "deno":
		if i := strings.Index(file, "/node_modules/"); i >= 0 {
			c.AddDependency(file[:i]+"/node_modules", "the packages around "+path.Base(file), false)
			c.Modules = append(c.Modules, file[:i]+"/node_modules")
			return
		}
		for d := dir; d != path.Dir(d) && !c.isGuarded(d); d = path.Dir(d) {
			if c.Paths.Exists(path.Join(d, "package.json")) {
				c.Modules = append(c.Modules, path.Join(d, "node_modules"))
				if c.isServerWritable(file) && !c.isServerWritable(d) {
					// The server could remove the package.json of its workspace, so that the
					// next one found is outside. Grant only the files that node looks for there.
					c.AddDependency(path.Join(d, "package.json"), "the package of "+path.Base(file), false)
					c.addHoisted(d)
					break
				}
				c.AddDependency(d, "the package of "+path.Base(file), true)
				c.addHoisted(path.Dir(d))
				return
			}
		}
	case lang == "python", lang == "ruby", lang == "perl", lang == "php", lang == "lua", lang == "java":
	default:
		c.addShellPackage(file)
		return
	}
	if !c.isGuarded(dir) && path.Base(dir) != "bin" {
		c.AddDependency(dir, "the directory of "+path.Base(file), true)
	}
}

// manifests are the files that a package is known by.
var manifests = []string{"package.json", "pyproject.toml", "setup.py", "deno.json", "go.mod", "Cargo.toml", "Gemfile", "composer.json", "pom.xml", "build.gradle"}

// addShellPackage adds the package that a shell script belongs to, because such a script starts another
// program of it: the nearest ancestor with a manifest, not above the root of a repository. What a
// server may write is not widened to what it may not. A directory that holds repositories, and is none,
// is a place for projects: a manifest that was left there makes no package of all of them.
func (c *Resolver) addShellPackage(file string) {
	for dir := path.Dir(file); dir != path.Dir(dir) && !c.isGuarded(dir) && c.isServerWritable(file) == c.isServerWritable(dir); dir = path.Dir(dir) {
		has := func(name string) bool { return c.Paths.Exists(path.Join(dir, name)) }
		if slices.ContainsFunc(manifests, has) {
			if !has(".git") && c.holdsRepository(dir) {
				return
			}
			c.AddDependency(dir, "the package of "+path.Base(file), true)
			if has("package.json") {
				c.Modules = append(c.Modules, path.Join(dir, "node_modules"))
				c.addHoisted(path.Dir(dir))
			}
			return
		}
		if has(".git") {
			return
		}
	}
}

// maxProjects is how many names of a directory holdsRepository looks at.
const maxProjects = 200

func (c *Resolver) holdsRepository(dir string) bool {
	names, _ := c.Paths.Names(dir)
	return slices.ContainsFunc(names[:min(len(names), maxProjects)], func(name string) bool {
		return c.Paths.Exists(path.Join(dir, name, ".git"))
	})
}

// addHoisted adds the node_modules of the directories above a package. In a monorepo they
// contain the dependencies of packages/x.
func (c *Resolver) addHoisted(dir string) {
	for ; dir != path.Dir(dir) && !c.isGuarded(dir); dir = path.Dir(dir) {
		if m := path.Join(dir, "node_modules"); c.Paths.Exists(m) {
			c.AddDependency(m, "the packages hoisted to "+dir, false)
			c.Modules = append(c.Modules, m)
		}
	}
}
