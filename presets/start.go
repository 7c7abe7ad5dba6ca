package presets

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Start is what decides which code runs: a command line, and what is known of the place where
// it runs.
type Start struct {
	Argv []string
	// Env are the variables that the server gets beside those of the line.
	Env map[string]string
	// Project is the directory of the project, whose author need not be the user; "" if there is
	// none. A relative path begins there.
	Project string
	// Brought are more directories whose files another has written: those of a plugin whose entry it is.
	Brought []string
	// Through reports whether a path leads through a directory: hostfs.Through. Without it every
	// absolute path is one of those directories, if there are any.
	Through func(path, dir string) bool
	// Instead is the file of the project that the launcher would run in place of its package, or
	// "".
	Instead string

	system string // as in runtime.GOOS; "" is this one
}

// An UnfitError says why a preset does not hold for what a start runs.
type UnfitError struct {
	Preset *Preset
	Runs   string   // what the line runs, if the preset is for something else
	Brings []string // or the code that it brings beside that
}

func (e *UnfitError) Error() string {
	preset := cmp.Or(e.Preset, &Preset{})
	text := "it does not hold for a line that brings its own code (" + strings.Join(e.Brings, ", ") + ")"
	if e.Runs != "" {
		text = "it is for " + preset.packages() + ", and the line runs " + e.Runs
	}
	return text + ". To grant the same to this line, copy the table that mcp-jail preset " + preset.Name + " prints into your configuration"
}

func (p *Preset) isFor(ecosystem Ecosystem, name string) bool {
	key := Package{Ecosystem: ecosystem, Name: normal(ecosystem, name)}.key()
	return slices.ContainsFunc(p.Packages, func(of Package) bool {
		return Package{Ecosystem: of.Ecosystem, Name: normal(of.Ecosystem, of.Name)}.key() == key
	})
}

func (p *Preset) packages() string {
	var names []string
	for _, of := range p.Packages {
		if of.Ecosystem != Image {
			names = append(names, of.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Fits returns an *UnfitError if the rights of a preset would not go to what the preset is for: the
// line names another package, or brings its own code. A program or script that is not of the
// project fits every preset, because only the user can have put it there and written the preset
// beside it.
func (p *Preset) Fits(s Start) error {
	if what := s.Brings(); len(what) > 0 {
		return &UnfitError{Preset: p, Brings: what}
	}
	line, _, err := s.line()
	if err != nil {
		return nil
	}
	name, ok := nameOf(line)
	if ok && p.isFor(Ecosystem(line.Ecosystem()), name) {
		return nil
	}
	return &UnfitError{Preset: p, Runs: line.Packages[0].String()}
}

// Named returns the preset of the package or program that a start names. If the start brings code
// of its own, the name says nothing about what runs: see Brings.
func Named(s Start) (*Preset, bool) {
	line, _, err := s.line()
	if err == nil {
		name, ok := nameOf(line)
		if !ok {
			return nil, false
		}
		return ForPackage(Ecosystem(line.Ecosystem()), name)
	}
	if len(s.Argv) == 0 || s.owns(s.Argv[0]) {
		return nil, false
	}
	return ForPackage(Command, strings.TrimSuffix(baseName(s.Argv[0]), ".exe"))
}

func nameOf(line runline.Line) (name string, ok bool) {
	switch first := line.Packages[0]; first.Kind {
	case runline.Registry:
		return first.Name, true
	case runline.Alias:
		return first.Target, true
	}
	return "", false
}

// line takes the command line apart. If it begins with a file of the project that is called like a
// launcher or wrapper, own is that file, and the line is what it would be without it.
func (s Start) line() (line runline.Line, own string, err error) {
	line, err = runline.Parse(s.Argv)
	if err != nil && len(s.Argv) > 0 && s.owns(s.Argv[0]) {
		// The project's own ./npx can be anything. What its line says is still read, to name the rest.
		argv := append([]string{baseName(s.Argv[0])}, s.Argv[1:]...)
		if as, err := runline.Parse(argv); err == nil {
			return as, s.Argv[0], nil
		}
	}
	return line, "", err
}

// Brings returns, in the words of the line, what makes other code run than that of the package or
// program which a start names. It is empty for a program or script that is not of the project.
func (s Start) Brings() (what []string) {
	line, own, err := s.line()
	var unknown *runline.NotUnderstoodError
	switch {
	case errors.As(err, &unknown):
		return []string{"a line that mcp-jail does not take apart"}
	case err != nil:
		what = s.direct()
	default:
		if own != "" {
			what = append(what, own)
		}
		for _, word := range line.Starters {
			if own == "" && s.owns(word) {
				what = append(what, word)
			}
		}
		// Another must not choose a directory that the package reads.
		if line.Dir != "" && (s.Brought != nil || s.Project != "" && !s.isInProject(line.In(s.Project))) {
			what = append(what, "env -C "+line.Dir)
		}
		what = append(what, ofLine(line)...)
		if s.Instead != "" {
			what = append(what, s.Instead)
		}
	}
	// With a variable such as NODE_OPTIONS the entry can have any interpreter load code.
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if Loads(name, s.Env[name]) && !slices.Contains(what, name) {
			what = append(what, name)
		}
	}
	return what
}

func (s Start) isInProject(dir string) bool {
	if s.isWindows() {
		return winpath.Within(dir, s.Project)
	}
	return policy.Within(path.Clean(dir), s.Project)
}

func ofLine(line runline.Line) (what []string) {
	if Loads("NODE_OPTIONS", line.NodeOptions) {
		what = append(what, "--node-options")
	}
	for _, a := range line.Env {
		// PATH decides which node runs the package.
		if (Loads(a.Name, a.Value) || a.Name == "PATH") && !slices.Contains(what, a.Name) {
			what = append(what, a.Name)
		}
	}
	return append(what, line.Brings()...)
}

// owns reports whether a word is the path of a file that the project or plugin may have brought. What
// lies in /proc or /dev may be: a path through there can lead into any directory.
func (s Start) owns(word string) bool {
	brought := s.Brought
	if s.Project != "" {
		brought = append(slices.Clone(brought), s.Project)
	}
	if s.isWindows() {
		return s.ownsOnWindows(word, brought)
	}
	slashes := strings.ReplaceAll(word, `\`, "/")
	clean := path.Clean(slashes)
	switch {
	case !strings.Contains(slashes, "/"), strings.HasPrefix(slashes, "~/"):
		return false
	case !path.IsAbs(word): // also one that begins with a variable of the client
		return true
	}
	dirs := append([]string{"/proc", "/dev"}, brought...)
	if slices.ContainsFunc(dirs, func(dir string) bool { return policy.Within(clean, dir) }) {
		return true
	}
	if s.Through == nil {
		return len(brought) > 0
	}
	// Some programs take ".." out of a path before they follow its links.
	return slices.ContainsFunc(dirs, func(dir string) bool { return s.Through(word, dir) || s.Through(slashes, dir) || s.Through(clean, dir) })
}

func (s Start) isWindows() bool { return cmp.Or(s.system, runtime.GOOS) == "windows" }

// ownsOnWindows has the rules of Windows. A path of another machine, a device, and a path that depends on
// the working directory of a drive may be anything. So may a name with a stream.
func (s Start) ownsOnWindows(word string, brought []string) bool {
	slashes := strings.ReplaceAll(word, `\`, "/")
	switch {
	case !strings.ContainsAny(slashes, "/:"), strings.HasPrefix(slashes, "~/"):
		return false
	case !strings.HasPrefix(slashes, "/") && !winpath.HasDrive(slashes):
		return true
	case winpath.CheckFile(winpath.Join(`C:\`, word)) != nil:
		return true
	}
	return slices.ContainsFunc(brought, func(dir string) bool {
		at := winpath.Join(dir, word) // without a drive it is on that of the working directory
		return winpath.Within(at, dir) || s.Through == nil || s.Through(at, dir)
	})
}

func baseName(word string) string { return path.Base(strings.ReplaceAll(word, `\`, "/")) }

// wrappers are programs that start another program, which their arguments name, and programs that
// run what the files of the directory say.
var wrappers = []string{
	"env", "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "sudo", "doas", "xvfb-run", "dbus-run-session", "xargs", "strace", "ltrace", "script", "unshare",
	"npm", "yarn", "pnpm", "uv", "pipx", "poetry", "make", "go", "cargo", "docker", "podman", "nerdctl", "cmd",
}

// IsWrapper reports whether the words after a program say what it starts, or the files of the
// directory do.
func IsWrapper(program string) bool { return slices.Contains(wrappers, program) }

func (s Start) direct() []string {
	if len(s.Argv) == 0 {
		return nil
	}
	program, args := baseName(s.Argv[0]), s.Argv[1:]
	lang := policy.InterpreterFamily(program)
	switch {
	case s.owns(s.Argv[0]):
		return []string{s.Argv[0]}
	case IsWrapper(program):
		return []string{"what " + program + " starts"}
	case lang == "" && !policy.IsShell(program):
		return nil
	}
	script := policy.ScriptArgument(lang, args)
	for i, word := range args {
		switch {
		case lang == "python" && word == "-m" && (slices.Contains(args[:i], "-I") || slices.Contains(args[:i], "-P")):
			return nil // not from the working directory
		case word == script && script != "" && !s.owns(word) && (strings.Contains(word, "/") || s.isWindows() && strings.Contains(word, `\`)):
			return nil
		case !slices.Contains(harmless[lang], word) && !(lang == "node" && harmlessNode(word)):
			flag, _, _ := strings.Cut(word, "=")
			return []string{flag}
		}
	}
	return []string{"what " + program + " reads"}
}

// harmless are options of interpreters that load no code.
var harmless = map[string][]string{
	"python": {"-u", "-s", "-S", "-E", "-I", "-P", "-B", "-O", "-OO", "-q"},
	"java":   {"-jar"},
	"":       {"-e", "-u", "-eu"},
}

// Loads reports whether a variable with a value can make a server load code.
func Loads(name, value string) bool {
	if value == "" || !environ.Loads(name) {
		return false
	}
	if name == "PYTHONWARNINGS" {
		return strings.Contains(value, ".") // a category with a module is imported
	}
	return name != "NODE_OPTIONS" || slices.ContainsFunc(strings.Fields(value), func(word string) bool { return !harmlessNode(word) })
}

func harmlessNode(word string) bool {
	flag, _, _ := strings.Cut(word, "=")
	switch strings.ReplaceAll(flag, "_", "-") {
	case "--max-old-space-size", "--max-semi-space-size", "--max-http-header-size", "--stack-trace-limit", "--dns-result-order", "--unhandled-rejections":
		return strings.Contains(word, "=") // its value may be the next word
	case "--no-warnings", "--no-deprecation", "--trace-warnings", "--trace-deprecation", "--enable-source-maps", "--use-system-ca", "--use-bundled-ca", "--use-openssl-ca",
		"--no-network-family-autoselection", "--tls-min-v1.2", "--tls-min-v1.3":
		return true
	}
	return false
}
