package runline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
)

// ErrNotLauncher says that a command starts a program directly, without fetching a package.
var ErrNotLauncher = errors.New("the command is not a package launcher")

// NotUnderstoodError says that a command is the line of a launcher, and which word of it is not one of the
// plain forms.
type NotUnderstoodError struct {
	Launcher string // as a user calls it: "npx", "uv tool run"; also "sh", "env", "cmd"
	Word     string // the word that is not understood; "" if a word is missing
	Why      string
}

func (e *NotUnderstoodError) Error() string {
	text := "this " + e.Launcher + " line runs as it is given, and its package is not pinned, because "
	if e.Word != "" {
		text += "of " + strconv.Quote(show.Abbreviate(e.Word)) + ": "
	}
	return text + e.Why
}

// Parse returns what the command line argv asks for. Its error matches ErrNotLauncher, or is a
// *NotUnderstoodError.
func Parse(argv []string) (Line, error) {
	if len(argv) == 0 {
		return Line{}, ErrNotLauncher
	}
	inside, err := wrapper.Unwrap(argv)
	if err != nil {
		return Line{}, notUnwrapped(inside.Inner, err)
	}
	launcher, ok := wrapper.LauncherOf(inside.Inner)
	if !ok || !launcher.Package {
		return Line{}, ErrNotLauncher
	}
	p := parser{name: launcher.Name, line: Line{Outer: inside.Own, Dir: inside.Dir}, variables: inside.Unset}
	for _, set := range inside.Set {
		name, value, _ := strings.Cut(set, "=")
		p.line.Env = append(p.line.Env, Assignment{name, value})
		p.variables = append(p.variables, name)
	}
	if err := p.parse(launcher, inside.Inner[1:]); err != nil {
		return Line{}, err
	}
	return p.line, nil
}

// notUnwrapped returns the error for the line of a wrapper that is not understood.
func notUnwrapped(argv []string, err error) error {
	var unknown *wrapper.Error
	if !errors.As(err, &unknown) || !mentionsLauncher(argv) {
		return ErrNotLauncher
	}
	return &NotUnderstoodError{wrapper.ProgramName(argv[0]), unknown.Word, unknown.Why}
}

// mentionsLauncher reports whether a command line that is not understood starts a launcher of packages
// somewhere. If it does not, it is no launcher's line.
func mentionsLauncher(argv []string) bool {
	var words []string
	for _, w := range argv {
		words = append(words, strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(" \t\n\r;&|(){}'\"`$=<>", r) })...)
	}
	for i := range words {
		if l, ok := wrapper.LauncherOf(words[i:]); ok && l.Package {
			return true
		}
	}
	return false
}

// Starts reports whether a program can be a launcher, or start one, by the words after it.
func Starts(program string) bool {
	return wrapper.Wraps(program) || slices.Contains([]string{"npx", "npm", "uvx", "uv"}, wrapper.ProgramName(program))
}

// A parser takes the words after a launcher apart.
type parser struct {
	name      string // the launcher as a user calls it, for messages
	line      Line
	options   map[string]use
	variables []string // that the line sets or removes
}

// use is what an option does to the line.
type use uint8

const (
	unknown  use = iota
	ignored      // without an effect on what runs
	pkg          // one more package
	from         // the package that provides the program
	with         // a package beside it
	toPython     // the version of Python
)

var (
	npxOptions     = map[string]use{"-y": ignored, "--yes": ignored, "-q": ignored, "--quiet": ignored, "--package": pkg, "-p": pkg}
	npmExecOptions = map[string]use{"-y": ignored, "--yes": ignored, "-q": ignored, "--quiet": ignored, "--package": pkg}
	uvxOptions     = map[string]use{"-q": ignored, "--quiet": ignored, "--from": from, "--with": with, "-w": with, "--python": toPython, "-p": toPython}
)

func (p *parser) parse(launcher wrapper.Launcher, words []string) (err error) {
	_, command, _ := strings.Cut(launcher.Name, " ")
	for part := range strings.FieldsSeq(command) {
		if words[0] != part {
			return p.bad(words[0], "it is before "+command+", where mcp-jail does not know what it changes")
		}
		words = words[1:]
	}
	switch launcher.Name {
	case "npx":
		p.line.Launcher, p.options = npx, npxOptions
		words, err = p.npx(words)
	case "npm exec", "npm x":
		p.line.Launcher, p.options = npmExec, npmExecOptions
		words, err = p.npmExec(words)
	case "uvx", "uv tool run":
		p.line.Launcher, p.options = Launcher(launcher.Name), uvxOptions
		words, err = p.leading(words)
	default:
		return p.bad("", "mcp-jail fetches packages for npx and uvx lines only. "+launcher.Instead)
	}
	if err == nil {
		err = p.checkVariables()
	}
	if err == nil {
		err = p.program(words)
	}
	return err
}

// leading reads the options before the first other word.
func (p *parser) leading(words []string) (rest []string, err error) {
	for len(words) > 0 && words[0] != "--" && strings.HasPrefix(words[0], "-") {
		n, err := p.option(words)
		if err != nil {
			return nil, err
		}
		words = words[n:]
	}
	return words, nil
}

// npx passes everything after the first word that is no option on to the program.
func (p *parser) npx(words []string) (rest []string, err error) {
	rest, err = p.leading(words)
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return rest, err
}

// npmExec reads options everywhere up to "--", as npm does.
func (p *parser) npmExec(words []string) (rest []string, err error) {
	for {
		if words, err = p.leading(words); err != nil || len(words) == 0 {
			return rest, err
		}
		if words[0] == "--" {
			return append(rest, words[1:]...), nil
		}
		rest, words = append(rest, words[0]), words[1:]
	}
}

// option reads the option with which words begin, and returns how many words it has.
func (p *parser) option(words []string) (n int, err error) {
	word, next := words[0], ""
	if len(words) > 1 {
		next = words[1]
	}
	name, value, joined := strings.Cut(word, "=")
	switch use := p.options[name]; {
	case use == unknown, use == ignored && joined:
		known := strings.Join(slices.Sorted(maps.Keys(p.options)), ", ")
		return 0, p.bad(word, "of its options mcp-jail understands only "+known)
	case use == ignored && p.line.Launcher == npmExec && (next == "true" || next == "false" || next == "null"):
		return 0, p.bad(next, "npm takes it for the value of "+word)
	case use == ignored:
		return 1, nil
	case joined:
		return 1, p.apply(use, word, value)
	case next == "" || next[0] == '-':
		return 0, p.bad(word, "the value is missing, or begins with a hyphen")
	default:
		return 2, p.apply(use, word, next)
	}
}

// apply puts the value of an option into the line. word is what the user wrote.
func (p *parser) apply(u use, word, value string) error {
	l := &p.line
	if u == toPython {
		if l.Python != "" || !pythonVersion().MatchString(value) {
			return p.bad(value, "only one version of Python is understood, such as 3.12")
		}
		l.Python = value
		return nil
	}
	spec, err := p.spec(value)
	switch {
	case err != nil:
		return err
	case u == from && l.named:
		return p.bad(word, "it is given twice")
	case u == from:
		l.Packages = append([]Spec{spec}, l.Packages...) // --with may come before --from
	default:
		l.Packages = append(l.Packages, spec)
	}
	l.named = l.named || u != with
	return nil
}

// spec reads a package.
func (p *parser) spec(word string) (s Spec, err error) {
	ok := false
	if p.line.Ecosystem() == NPM {
		s, ok = parseNPM(word)
	} else if isInterpreter(word) {
		return s, p.bad(word, "uvx takes it for an interpreter or a slip, not for a package")
	} else {
		s, ok = parsePython(word)
	}
	if !ok {
		return s, p.bad(word, "only a package of the registry is fetched, as NAME or NAME@VERSION")
	}
	return s, nil
}

// isInterpreter reports whether uvx takes a word for a Python, or for the command of uv.
func isInterpreter(word string) bool {
	name, _, _ := strings.Cut(strings.ToLower(word), "@")
	return name == "run" || slices.Contains([]string{"python", "pythonw", "cpython", "pypy", "graalpy", "pyodide"}, strings.TrimRight(name, "0123456789."))
}

// program reads the word that names the program, and its arguments.
func (p *parser) program(words []string) error {
	l := &p.line
	switch {
	case len(words) == 0:
		return p.bad("", "it names no package")
	case slices.ContainsFunc(words, func(w string) bool { return strings.ContainsRune(w, 0) }):
		return p.bad("", "a word has a NUL in it")
	}
	word := words[0]
	l.Args = words[1:len(words):len(words)]
	if l.named {
		if !programName().MatchString(word) {
			return p.bad(word, "it is not the name of a program")
		}
		l.Program = word
		return nil
	}
	spec, err := p.spec(word)
	if err != nil {
		return err
	}
	l.Packages = append([]Spec{spec}, l.Packages...)
	if l.Ecosystem() == PyPI {
		l.Program = word[:len(pythonSpec().FindStringSubmatch(word)[1])] // exactly as it was typed
	}
	return nil
}

// checkVariables refuses a line that sets or removes a variable which the launcher reads.
func (p *parser) checkVariables() error {
	prefix := "uv_"
	if p.line.Ecosystem() == NPM {
		prefix = "npm_config_"
	}
	for _, name := range p.variables {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return p.bad(name, p.name+" reads this variable")
		}
	}
	return nil
}

func (p *parser) bad(word, why string) error {
	return &NotUnderstoodError{Launcher: p.name, Word: word, Why: why}
}

// Launcher is the command that fetches and runs a package.
type Launcher string

// The launchers.
const (
	npx       Launcher = "npx"
	npmExec   Launcher = "npm exec" // npm x, too
	uvx       Launcher = "uvx"
	uvToolRun Launcher = "uv tool run"
)

// Ecosystem is the kind of registry that packages come from.
type Ecosystem string

// The ecosystems.
const (
	NPM  Ecosystem = "npm"
	PyPI Ecosystem = "pypi"
)

// ecosystem returns where the launcher's packages come from.
func (l Launcher) ecosystem() Ecosystem {
	if l == uvx || l == uvToolRun {
		return PyPI
	}
	return NPM
}

// Line is what a launcher's command line asks for.
type Line struct {
	Launcher Launcher
	// Packages are installed together. There is at least one. The package of --from, or the one that the
	// word for the program names, is the first; the others are in the order of the line. The first
	// provides the program if Program is "".
	Packages []Spec
	// Program is the name of the program among those of Packages. It is "" if npm chooses the program of
	// the first package by its own rule.
	Program string
	Args    []string // the program's arguments
	Python  string   // the version of --python, such as "3.12"; "" is any

	// Env are the variables that the line itself sets, in order. The program gets them.
	Env []Assignment
	// Outer are the words of programs that stay in front of the package's program, such as timeout 30.
	Outer []string
	// Dir is the directory of env -C, in which the program starts. A relative one begins at the working
	// directory. "" is the working directory.
	Dir string

	named bool // an option names the packages, so that the first word names only a program
}

// Assignment is a variable that a line sets.
type Assignment struct{ Name, Value string }

// Ecosystem returns where the packages come from.
func (l *Line) Ecosystem() Ecosystem { return l.Launcher.ecosystem() }

// In returns the directory in which the line starts the program, if it is itself started in dir.
func (l *Line) In(dir string) string {
	switch {
	case l.Dir == "":
		return dir
	case path.IsAbs(l.Dir):
		return l.Dir
	}
	return path.Join(dir, l.Dir)
}

// Names returns the names of the packages in the order of the line.
func (l *Line) Names() (names []string) {
	for _, p := range l.Packages {
		names = append(names, p.Name)
	}
	return names
}

// Wanted returns, as readable text, the packages that the line asks for, with their versions, ranges or
// tags. Two lines with the same text can share one pinned installation.
func (l *Line) Wanted() string {
	var parts []string
	for _, p := range l.Packages {
		parts = append(parts, p.identity()+"@"+p.Want())
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if l.Python != "" {
		parts = append(parts, "--python="+l.Python)
	}
	return strings.Join(parts, " ")
}

// Key returns a name for what the line fetches, which is also one for a file: lines that ask for the same
// packages have the same.
func (l *Line) Key() string {
	sum := sha256.Sum256([]byte(string(l.Ecosystem()) + ": " + l.Wanted()))
	name := path.Base(l.Packages[0].Name)
	return name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:8])
}

// Local returns the name of the file in node_modules/.bin that npx and npm exec run in place of the
// package, if the working directory or one above it has that. It is "" if no file can be in the way.
func (l *Line) Local() string {
	if l.named || l.Ecosystem() != NPM {
		return ""
	}
	return l.Packages[0].Raw
}
