package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// prefix adds the installation that a runtime lives in: the parent of bin/
// (docs/policy.md "Runtime baseline"). chosen says that the server chose the file:
// then an environment is somebody's project as likely as an installation.
func (c *commands) prefix(file string, chosen bool) {
	if inSystem(file) || chosen && !c.theirs(file) && c.f.Exists(path.Join(path.Dir(path.Dir(file)), "pyvenv.cfg")) {
		return
	}
	// Package managers that keep libraries apart from programs.
	if policy.Within(file, "/nix/store") {
		c.need("/nix/store", "the nix store", false)
		return
	}
	if i := strings.Index(file, "/Cellar/"); i > 0 && !c.guards(file[:i]) {
		c.need(file[:i], "the Homebrew prefix", false)
		return
	}
	lang, dir := policy.Language(path.Base(file)), path.Dir(file)
	if (path.Base(file) == "uvx" || path.Base(file) == "uv") && c.f.Exists(path.Join(dir, "uv")) {
		c.need(path.Join(dir, "uv"), "the program uv", false) // uvx starts the uv beside it
	}
	if lang == "" || path.Base(dir) != "bin" {
		return
	}
	prefix := path.Dir(dir)
	if !c.guards(prefix) {
		c.need(prefix, "the installation of "+path.Base(file), false)
		return
	}
	if lang == "python" {
		// ~/.local/bin/python3.12 keeps its library in ~/.local/lib/python3.12.
		if lib := path.Join(prefix, "lib", path.Base(file)); c.f.Exists(lib) {
			c.need(lib, "the library of "+path.Base(file), false)
		}
	}
}

// venv adds a Python virtual environment: python finds its packages by the name
// it was started by, so the directory around every link that was crossed counts.
// Behind a link of the server's only those in its own places do.
func (c *commands) venv(found string, at hostfs.Place, chosen bool) {
	try := func(name string) {
		env := path.Dir(path.Dir(name))
		if chosen && !c.theirs(env) || env == "/" || inSystem(env) || !c.f.Exists(path.Join(env, "pyvenv.cfg")) || c.guards(env) {
			return
		}
		c.need(env, "the virtual environment of "+path.Base(found), false)
	}
	try(found)
	if dir, err := c.f.Find(path.Dir(found)); err == nil && c.leaves(dir) == nil {
		try(path.Join(dir.Path, path.Base(found)))
	}
	for _, l := range at.Links {
		try(l.Path)
		chosen = chosen || c.theirs(l.Path)
	}
	try(at.Path)
}

// guards tells whether a directory must not be widened to: it is or holds the
// home directory, a sensitive path, or mcp-jail's own files, or is inside of one.
func (c *commands) guards(dir string) bool {
	if dir == "/" || slices.Contains(sharedPlaces, dir) {
		return true
	}
	for _, g := range c.wide {
		if policy.Within(g, dir) {
			return true
		}
	}
	for _, g := range c.secret {
		if policy.Within(g, dir) || policy.Within(dir, g) {
			return true
		}
	}
	return false
}

// sharedPlaces hold the files of many, so that no single program brings them.
var sharedPlaces = []string{"/opt", "/srv", "/tmp", "/var", "/var/tmp", "/var/lib", "/home", "/Users", "/mnt", "/media", "/etc", "/run", "/dev", "/proc", "/sys", "/private", "/private/tmp", "/Applications", "/Library", "/opt/homebrew/bin"}

// arguments looks for a script among the arguments of an interpreter: `node
// /srv/app/dist/index.js DIR` needs the package around index.js.
func (c *commands) arguments(name, found string, args []string, depth int) {
	if name == "env" {
		if program := envProgram(args); program != "" {
			i := slices.Index(args, program)
			if file, err := c.locate(program); err == nil && i >= 0 {
				_, _ = c.follow(program, file, args[i+1:], depth+1, false) // env reports what is missing
			}
		}
		return
	}
	if name == "uv" || name == "uvx" {
		c.uvProject(args)
		return
	}
	// A shim or link may hide the real name: /opt/x/bin/python -> /usr/bin/pypy.
	lang := policy.Language(name)
	if lang == "" {
		lang = policy.Language(path.Base(found))
	}
	if lang == "" && !policy.IsShell(name) {
		return
	}
	script := policy.ScriptArgument(lang, args)
	if script == "" {
		return
	}
	if !strings.HasPrefix(script, "/") {
		script = path.Join(c.work, script)
	}
	if lang == "node" && !c.f.Exists(script) { // node adds what is missing
		for _, try := range [...]string{script + ".js", script + ".cjs", script + ".mjs"} {
			if c.f.Exists(try) {
				script = try
				break
			}
		}
	}
	at, err := c.f.Find(script)
	if err != nil || !at.Exists() || c.strays(at) {
		return
	}
	c.links = append(c.links, at.Links...)
	if at.Info.Mode.IsDir() {
		if lang == "node" || lang == "python" { // node DIR, python DIR
			c.script(name, path.Join(at.Path, "index"))
		}
		return
	}
	c.script(name, at.Path)
}

// uvProject adds the project of `uv --directory DIR run SCRIPT`, which is how
// most Python servers are configured.
func (c *commands) uvProject(args []string) {
	for i, a := range args {
		dir, ok := strings.CutPrefix(a, "--directory=")
		if p, is := strings.CutPrefix(a, "--project="); is {
			dir, ok = p, true
		}
		if (a == "--directory" || a == "--project") && i+1 < len(args) {
			dir, ok = args[i+1], true
		}
		if !ok {
			continue
		}
		if !strings.HasPrefix(dir, "/") {
			dir = path.Join(c.work, dir)
		}
		at, err := c.f.Find(dir)
		if err == nil && at.Exists() && at.Info.Mode.IsDir() && !c.guards(at.Path) && !c.strays(at) {
			c.links = append(c.links, at.Links...)
			c.need(at.Path, "the project that uv starts", true)
		}
	}
}

// script adds the package of an interpreted script: for JavaScript the nearest
// ancestor with a package.json, widened to the outermost node_modules because
// dependencies are hoisted there; for others the script's own directory, which
// is where they look for the files beside it.
func (c *commands) script(interpreter, file string) {
	c.need(file, "the script "+path.Base(file), false)
	if inSystem(file) {
		return
	}
	dir := path.Dir(file)
	switch lang := policy.Language(interpreter); {
	case lang == "node" || lang == "bun" || lang == "deno":
		if i := strings.Index(file, "/node_modules/"); i >= 0 {
			c.need(file[:i]+"/node_modules", "the packages around "+path.Base(file), false)
			return
		}
		for d := dir; d != "/" && !c.guards(d); d = path.Dir(d) {
			if c.f.Exists(path.Join(d, "package.json")) {
				if c.theirs(file) && !c.theirs(d) {
					// The server can remove the one in its workspace, to be granted what is
					// around that: of a package outside only what node looks for.
					c.need(path.Join(d, "package.json"), "the package of "+path.Base(file), false)
					c.hoisted(d)
					break
				}
				c.need(d, "the package of "+path.Base(file), true)
				c.hoisted(path.Dir(d))
				return
			}
		}
	case lang == "python", lang == "ruby", lang == "perl", lang == "php", lang == "lua", lang == "java":
	default:
		return // a shell script is one file
	}
	if !c.guards(dir) && path.Base(dir) != "bin" {
		c.need(dir, "the directory of "+path.Base(file), true)
	}
}

// hoisted adds the node_modules of the directories above a package: in a
// monorepo the dependencies of packages/x are there.
func (c *commands) hoisted(dir string) {
	for ; dir != "/" && !c.guards(dir); dir = path.Dir(dir) {
		if m := path.Join(dir, "node_modules"); c.f.Exists(m) {
			c.need(m, "the packages hoisted to "+dir, false)
		}
	}
}
