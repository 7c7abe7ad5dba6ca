package policy

import (
	"path"
	"slices"
	"strings"
)

// language is the family of an interpreter, by the name of its program:
// "python3.11" is "python". "" is a program that interprets nothing we know.
func language(name string) string {
	name = strings.TrimSuffix(name, ".exe")
	stem := strings.TrimRight(name, "0123456789.-")
	for _, l := range [...]string{"python", "pypy", "node", "nodejs", "java", "bun", "deno", "ruby", "perl", "php", "lua", "julia", "Rscript", "dotnet", "tsx", "ts-node"} {
		if stem == l {
			switch l {
			case "nodejs", "tsx", "ts-node":
				return "node"
			case "pypy":
				return "python"
			}
			return l
		}
	}
	return ""
}

// prefix adds the installation that a runtime lives in: the parent of bin/
// (docs/policy.md "Runtime baseline"). chosen says that the server chose the file:
// then an environment is somebody's project as likely as an installation.
func (c *commands) prefix(file string, chosen bool) {
	if inSystem(file) || chosen && !c.theirs(file) && c.f.exists(path.Join(path.Dir(path.Dir(file)), "pyvenv.cfg")) {
		return
	}
	// Package managers that keep libraries apart from programs.
	if Within(file, "/nix/store") {
		c.need("/nix/store", "the nix store", false)
		return
	}
	if i := strings.Index(file, "/Cellar/"); i > 0 && !c.guards(file[:i]) {
		c.need(file[:i], "the Homebrew prefix", false)
		return
	}
	lang, dir := language(path.Base(file)), path.Dir(file)
	if (path.Base(file) == "uvx" || path.Base(file) == "uv") && c.f.exists(path.Join(dir, "uv")) {
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
		if lib := path.Join(prefix, "lib", path.Base(file)); c.f.exists(lib) {
			c.need(lib, "the library of "+path.Base(file), false)
		}
	}
}

// venv adds a Python virtual environment: python finds its packages by the name
// it was started by, so the directory around every link that was crossed counts.
// Behind a link of the server's only those in its own places do.
func (c *commands) venv(found string, at place, chosen bool) {
	try := func(name string) {
		env := path.Dir(path.Dir(name))
		if chosen && !c.theirs(env) || env == "/" || inSystem(env) || !c.f.exists(path.Join(env, "pyvenv.cfg")) || c.guards(env) {
			return
		}
		c.need(env, "the virtual environment of "+path.Base(found), false)
	}
	try(found)
	if dir, err := c.f.find(path.Dir(found)); err == nil && c.leaves(dir) == nil {
		try(path.Join(dir.path, path.Base(found)))
	}
	for _, l := range at.links {
		try(l.Path)
		chosen = chosen || c.theirs(l.Path)
	}
	try(at.path)
}

// guards tells whether a directory must not be widened to: it is or holds the
// home directory, a sensitive path, or mcp-jail's own files, or is inside of one.
func (c *commands) guards(dir string) bool {
	if dir == "/" || slices.Contains(sharedPlaces, dir) {
		return true
	}
	for _, g := range c.wide {
		if Within(g, dir) {
			return true
		}
	}
	for _, g := range c.secret {
		if Within(g, dir) || Within(dir, g) {
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
	lang := language(name)
	if lang == "" {
		lang = language(path.Base(found))
	}
	if lang == "" && !isShell(name) {
		return
	}
	script := scriptArgument(lang, args)
	if script == "" {
		return
	}
	if !strings.HasPrefix(script, "/") {
		script = path.Join(c.work, script)
	}
	if lang == "node" && !c.f.exists(script) { // node adds what is missing
		for _, try := range [...]string{script + ".js", script + ".cjs", script + ".mjs"} {
			if c.f.exists(try) {
				script = try
				break
			}
		}
	}
	at, err := c.f.find(script)
	if err != nil || !at.exists() || c.strays(at) {
		return
	}
	c.links = append(c.links, at.links...)
	if at.info.Mode.IsDir() {
		if lang == "node" || lang == "python" { // node DIR, python DIR
			c.script(name, path.Join(at.path, "index"))
		}
		return
	}
	c.script(name, at.path)
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"}, name)
}

// scriptArgument finds the first script among an interpreter's arguments; ""
// where the program comes from somewhere else (-e, -c, -m).
func scriptArgument(lang string, args []string) string {
	valued := map[string][]string{
		"node":   {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--input-type", "--tsconfig"},
		"python": {"-W", "-X", "--check-hash-based-pycs"},
		"ruby":   {"-r", "-I", "-C"},
		"perl":   {"-I"},
		"deno":   {"--config", "-c", "--import-map", "--lock"},
		"php":    {"-c", "-d"},
	}[lang]
	none := map[string][]string{
		"node":   {"-e", "--eval", "-p", "--print", "-pe", "-i"},
		"python": {"-c", "-m"},
		"ruby":   {"-e"},
		"perl":   {"-e", "-E"},
		"php":    {"-r"},
		"":       {"-c"}, // shells
	}[lang]
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			if i+1 < len(args) {
				return args[i+1]
			}
			return ""
		case lang == "java":
			if a == "-jar" && i+1 < len(args) {
				return args[i+1]
			}
		case slices.Contains(none, a):
			return ""
		case slices.Contains(valued, a):
			i++
		case a == "-" || a == "":
			return ""
		case strings.HasPrefix(a, "-"):
		case (lang == "deno" || lang == "bun" || lang == "node") && i == 0 && (a == "run" || a == "watch" || a == "x"):
			if a == "x" {
				return ""
			}
		case strings.Contains(a, "://"), strings.HasPrefix(a, "npm:"), strings.HasPrefix(a, "jsr:"):
			return ""
		default:
			return a
		}
	}
	return ""
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
		at, err := c.f.find(dir)
		if err == nil && at.exists() && at.info.Mode.IsDir() && !c.guards(at.path) && !c.strays(at) {
			c.links = append(c.links, at.links...)
			c.need(at.path, "the project that uv starts", true)
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
	switch lang := language(interpreter); {
	case lang == "node" || lang == "bun" || lang == "deno":
		if i := strings.Index(file, "/node_modules/"); i >= 0 {
			c.need(file[:i]+"/node_modules", "the packages around "+path.Base(file), false)
			return
		}
		for d := dir; d != "/" && !c.guards(d); d = path.Dir(d) {
			if c.f.exists(path.Join(d, "package.json")) {
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
		if m := path.Join(dir, "node_modules"); c.f.exists(m) {
			c.need(m, "the packages hoisted to "+dir, false)
		}
	}
}
