package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// addInstallation adds the installation of a program: a store of programs, or for an interpreter the
// directory around its bin (docs/policy.md "Runtime baseline"). chosen reports that the server named the
// file; then a virtual environment may be another project's, and is left out.
func (c *Resolver) addInstallation(file string, chosen bool) {
	name, dir := path.Base(file), path.Dir(file)
	prefix := path.Dir(dir)
	if places.InBaseline(c.H.OS, file) || chosen && !c.isServerWritable(file) && c.Paths.Exists(path.Join(prefix, "pyvenv.cfg")) {
		return
	}
	brew, _, cellar := strings.Cut(file, "/Cellar/")
	lang := policy.InterpreterFamily(name)
	switch library := path.Join(prefix, "lib", name); {
	case policy.Within(file, "/nix/store"):
		c.addDependency("/nix/store", "the nix store", false)
	case cellar && !c.isGuarded(brew):
		c.addHomebrew(brew)
	case name == "uvx" && c.Paths.Exists(path.Join(dir, "uv")):
		c.addDependency(path.Join(dir, "uv"), "the program uv", false) // uvx starts the uv beside it
	case lang == "" || path.Base(dir) != "bin":
	case !c.isGuarded(prefix):
		c.addDependency(prefix, "the installation of "+name, false)
	case lang == "python" && c.Paths.Exists(library): // of ~/.local/bin/python3.12
		c.addDependency(library, "the library of "+name, false)
	}
}

func (c *Resolver) addHomebrew(prefix string) {
	programs, data := []string{prefix}, []string(nil)
	if c.H.OS == "darwin" {
		programs, data = places.Prefix(prefix)
	}
	for _, dir := range programs {
		c.addDependency(dir, "the Homebrew prefix", false)
	}
	for _, dir := range data {
		c.Dependencies = append(c.Dependencies, dependency{Path: dir, Rule: "the Homebrew prefix", Data: true})
	}
}

// addVirtualEnvironment adds a Python virtual environment. Python finds its packages by the
// name that it was started by, so the directory around every link on the way counts. After
// a link that a server may have made, only directories in its own places count.
func (c *Resolver) addVirtualEnvironment(found string, at hostfs.ResolvedPath, chosen bool) {
	try := func(name string) {
		env := path.Dir(path.Dir(name))
		if chosen && !c.isServerWritable(env) || places.InBaseline(c.H.OS, env) || c.isGuarded(env) || !c.Paths.Exists(path.Join(env, "pyvenv.cfg")) {
			return
		}
		c.addDependency(env, "the virtual environment of "+path.Base(found), false)
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

// addProject adds the project that an option of a launcher names, as `uv --directory DIR run SCRIPT`
// does, which is how most Python servers are configured.
func (c *Resolver) addProject(launcher string, args, options []string) {
	for i, a := range args {
		option, dir, ok := strings.Cut(a, "=")
		if !ok && i+1 < len(args) {
			dir, ok = args[i+1], true
		}
		if !ok || !slices.Contains(options, option) {
			continue
		}
		if dir = c.addDirectory(dir, "the project that "+launcher+" starts"); dir != "" {
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
	c.addDependency(at.Path, rule, true)
	return at.Path
}

// addScript adds the script among the arguments of an interpreter: `node /srv/app/dist/index.js DIR` needs
// the package around index.js.
func (c *Resolver) addScript(lang, name string, args []string) {
	script := policy.ScriptArgument(lang, args)
	if script == "" {
		return
	}
	if !strings.HasPrefix(script, "/") {
		script = path.Join(c.WorkDir, script)
	}
	extensions := []string{""}
	if lang == "node" { // it adds a missing one
		extensions = append(extensions, ".js", ".cjs", ".mjs")
	}
	for _, extension := range extensions {
		at, err := c.Paths.Resolve(script + extension)
		if err != nil || !at.Exists() {
			continue
		}
		if c.escapesWorkspace(at) {
			return
		}
		c.Links = append(c.Links, at.Links...)
		switch {
		case !at.Info.Mode.IsDir():
			c.addPackage(name, at.Path)
		case lang == "node" || lang == "python": // node DIR, python DIR
			c.addPackage(name, path.Join(at.Path, "index"))
		}
		return
	}
}

// addPackage adds a script, and the package around it: the nearest directory above it that has one of the
// files by which the package of such a script is known, not above the root of a repository. For JavaScript
// it is the outermost node_modules, if there is one: dependencies are hoisted there. A script without a
// package looks for files beside it.
func (c *Resolver) addPackage(interpreter, file string) {
	c.addDependency(file, "the script "+path.Base(file), false)
	if places.InBaseline(c.H.OS, file) {
		return
	}
	lang := policy.InterpreterFamily(interpreter)
	manifests, known := policy.ProgramWords("package", lang)
	if !known {
		manifests, _ = policy.ProgramWords("package", "*")
	}
	_, javascript := policy.ProgramWords("modules", lang)
	if outer, _, ok := strings.Cut(file, "/node_modules/"); ok && javascript {
		c.addDependency(outer+"/node_modules", "the packages around "+path.Base(file), false)
		return
	}
	if c.addManifest(file, manifests, javascript) || !known {
		return
	}
	if dir := path.Dir(file); !c.isGuarded(dir) && path.Base(dir) != "bin" {
		c.addDependency(dir, "the directory of "+path.Base(file), true)
	}
}

// addManifest adds the package of a script that one of some files marks, and reports whether there is one.
// A directory that holds repositories, and is none, is a place for projects: a manifest that was left there
// makes no package of all of them.
func (c *Resolver) addManifest(file string, manifests []string, javascript bool) bool {
	passed := c.isServerWritable(file) // a place where a server may write
	for dir := path.Dir(file); dir != path.Dir(dir) && !c.isGuarded(dir); dir = path.Dir(dir) {
		has := func(name string) bool { return c.Paths.Exists(path.Join(dir, name)) }
		outside := passed && !c.isServerWritable(dir)
		passed = passed || c.isServerWritable(dir)
		switch marked := slices.ContainsFunc(manifests, has); {
		case marked && outside && javascript:
			// The server could remove the package.json of its workspace, so that the
			// next one found is outside. Grant only the files that node looks for there.
			c.addDependency(path.Join(dir, "package.json"), "the package of "+path.Base(file), false)
			c.addHoisted(dir)
			return false
		case outside && !javascript, marked && !has(".git") && c.holdsRepository(dir):
			return false
		case marked:
			c.addDependency(dir, "the package of "+path.Base(file), true)
			if has("package.json") {
				c.addHoisted(path.Dir(dir))
			}
			return true
		case has(".git"):
			return false
		}
	}
	return false
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
// contain the dependencies of its packages.
func (c *Resolver) addHoisted(dir string) {
	for ; dir != path.Dir(dir) && !c.isGuarded(dir); dir = path.Dir(dir) {
		if m := path.Join(dir, "node_modules"); c.Paths.Exists(m) {
			c.addDependency(m, "the packages hoisted to "+dir, false)
		}
	}
}
