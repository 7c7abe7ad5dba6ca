package naming

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// NeedsDir reports whether the code that a command line runs depends on the working directory: in
// another directory the same words may be another program. Where it is not known, it reports true: the
// server of a cloned repository must not get the HOME of the user's own server.
//
// NeedsDir returns false for a program that PATH or an absolute path names, with any arguments, unless it
// is an interpreter or starts what its arguments name.
func NeedsDir(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	if strings.Contains(argv[0], "/") && !isAbsolute(argv[0]) {
		return true
	}
	name, lang := family(argv[0])
	switch {
	case !takesCode(name, lang), slices.Contains(startsElsewhere, name):
		return false
	case lang != "" || policy.IsShell(name):
		return !absoluteScript(lang, argv[1:])
	case slices.Contains([]string{"npx", "uvx", "bunx", "pnpx"}, name):
		return !namesPackage(argv[1:])
	case name == "env":
		i := 1
		for i < len(argv) && isAssignment(argv[i]) {
			if v, value, _ := strings.Cut(argv[i], "="); (v == "PATH" || policy.IsDangerousVariable(v)) && !isAbsoluteList(value) {
				return true
			}
			i++
		}
		return i == len(argv) || strings.HasPrefix(argv[i], "-") || NeedsDir(argv[i:])
	}
	return !choosesDir(argv[1:])
}

// absoluteScript reports whether the arguments of an interpreter begin with a script that has an
// absolute path, after options that load nothing from the working directory.
func absoluteScript(lang string, args []string) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, hasValue := strings.Cut(a, "=")
		switch {
		case (lang == "deno" || lang == "bun") && a == "run":
		case !strings.HasPrefix(a, "-"):
			return isAbsolute(a) && !strings.HasPrefix(a, "~") && (lang != "bun" || hasOwnConfig(args[:i])) || lang == "deno" && isRemote(a)
		case lang == "python" && a == "-m" && (slices.Contains(args[:i], "-I") || slices.Contains(args[:i], "-P")):
			return i+1 < len(args) // it does not look in the working directory
		case lang == "java" && a == "-jar", a == "--":
		case slices.Contains(harmless[lang], name):
			if !hasValue && slices.Contains(valued[lang], name) {
				i++
			}
		case hasValue && path.IsAbs(value):
		case slices.Contains(loading[lang], a) && i+1 < len(args) && path.IsAbs(args[i+1]):
			i++
		default:
			return false
		}
	}
	return false
}

// harmless are options of interpreters that load nothing, valued those of them whose value is the next word.
var (
	harmless = map[string][]string{
		"python": {"-u", "-B", "-E", "-s", "-S", "-I", "-O", "-OO", "-P", "-q", "-v", "-W", "-X"},
		"node":   {"--no-warnings", "--enable-source-maps", "--trace-warnings", "--no-deprecation", "--experimental-strip-types", "--max-old-space-size"},
		"deno":   {"-A", "-q", "-R", "-W", "-N", "-E", "--allow-all", "--allow-net", "--allow-read", "--allow-write", "--allow-env", "--allow-run", "--allow-sys", "--quiet", "--no-prompt", "--no-check", "--no-config", "--cached-only"},
		"bun":    {"--silent", "--smol"},
		"ruby":   {"-w", "-W"},
		"perl":   {"-w", "-T"},
		"":       {"-e", "-l", "-u", "-x"}, // shells
	}
	valued = map[string][]string{"python": {"-W", "-X"}}
	// The value of these is code, or a directory of code.
	loading = map[string][]string{"node": {"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"}, "ruby": {"-r", "-I"}, "perl": {"-I"}}
)

// choosesDir reports whether an option names an absolute directory in which a program such as uv looks
// for what it starts. --project of uv does not: uv looks for the program in the working directory first.
func choosesDir(args []string) bool {
	for i, a := range args {
		name, value, hasValue := strings.Cut(a, "=")
		if !hasValue && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains([]string{"--directory", "--prefix", "--cwd", "--dir", "-C"}, name):
			return path.IsAbs(value)
		case !strings.HasPrefix(a, "-") && a != "run": // from here on, options may be the server's
			return false
		}
	}
	return false
}

// namesPackage reports whether the first argument of a launcher that is no path is the name of a package.
func namesPackage(args []string) bool {
	for len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
		args = args[1:]
	}
	return len(args) > 0 && args[0] != "" && !strings.ContainsAny(args[0][:1], "-./~")
}

// isAbsolute reports whether a path is the same in each directory.
func isAbsolute(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") }

// hasOwnConfig reports whether bun has been told where its bunfig.toml is, which names code to load first:
// else it is in the working directory.
func hasOwnConfig(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		return strings.HasPrefix(o, "--config=/") || strings.HasPrefix(o, "-c=/") || strings.HasPrefix(o, "--cwd=/")
	})
}

// isRemote reports whether deno fetches a module. It takes npm: from the node_modules of the working
// directory, if that has a package.json.
func isRemote(module string) bool {
	return slices.ContainsFunc([]string{"jsr:", "https://", "http://"}, func(p string) bool { return strings.HasPrefix(module, p) })
}

// isAbsoluteList reports whether each directory of a variable such as PATH is absolute. An empty one is the
// working directory.
func isAbsoluteList(value string) bool {
	return !slices.ContainsFunc(strings.Split(value, ":"), func(p string) bool { return !strings.HasPrefix(p, "/") })
}

func isAssignment(word string) bool {
	return strings.Contains(word, "=") && !strings.HasPrefix(word, "-")
}

// family returns the name of a program, and the family of interpreters that it belongs to.
func family(program string) (name, lang string) {
	name = strings.TrimSuffix(path.Base(program), ".exe")
	return name, policy.InterpreterFamily(name)
}

// takesCode reports whether an argument of a program may be code, or name another program.
func takesCode(name, lang string) bool {
	return lang != "" || policy.IsShell(name) || slices.Contains(startsOthers, strings.TrimRight(name, "0123456789.-"))
}

// startsElsewhere are those of startsOthers whose server is in a container or on another machine.
var startsElsewhere = []string{"docker", "podman", "nerdctl", "kubectl", "ssh", "mosh"}
