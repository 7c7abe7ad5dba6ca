package runline

import (
	"errors"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Parse returns what the command line argv asks for. Its error matches ErrNotLauncher, or
// is a *NotUnderstoodError.
func Parse(argv []string) (Line, error) {
	if len(argv) == 0 {
		return Line{}, ErrNotLauncher
	}
	name := programName(argv[0])
	if isWrapper(name) && relative(argv[0]) {
		return Line{}, ErrNotLauncher
	}
	line, err := Line{}, ErrNotLauncher
	if Starts(argv[0]) {
		line, err = parse(name, argv)
	}
	if err != nil {
		if away := elsewhere(argv, 0); away != nil {
			return Line{}, away
		}
	}
	return line, err
}

// Starts reports whether a program can be a launcher, or start one, by the words after it.
func Starts(program string) bool {
	switch programName(program) {
	case "npx", "npx-cli.js", "npm", "npm-cli.js", "bunx", "bun", "pnpx", "pnpm", "yarn", "yarnpkg", "uvx", "uv", "pipx",
		"node", "nodejs":
		return true
	}
	return isWrapper(programName(program))
}

func parse(name string, argv []string) (Line, error) {
	p := parser{words: argv[1:]}
	if err := p.command(name, argv[0]); err != nil {
		return Line{}, err
	}
	return p.line, nil
}

// parser takes one line apart. If the line begins with a wrapper, the words that the wrapper runs
// replace words.
type parser struct {
	words []string
	line  Line
	user  string // the launcher as a user calls it, for messages
	depth int    // the wrappers around these words
}

// maxWrappers is how many wrappers may be around a launcher's line.
const maxWrappers = 4

// launcher takes apart a line whose program is name, written as word. It returns ErrNotLauncher if
// the line is not one of a launcher.
func (p *parser) launcher(name, word string) error {
	user := p.find(name)
	if user == "" {
		return ErrNotLauncher
	}
	p.user = user
	if relative(word) {
		return p.bad(word, "a relative path names a program of this directory, which need not be "+user)
	}
	for _, w := range p.words {
		if strings.ContainsRune(w, 0) {
			return p.bad(w, "a word contains a NUL")
		}
	}
	if err := p.start(); err != nil {
		return err
	}
	for _, a := range p.line.Env {
		if err := p.variable(a); err != nil {
			return err
		}
	}
	for _, name := range p.line.Unset {
		if _, ok := variableOption(p.line.Launcher, name); ok {
			return p.bad(name, "without this variable "+p.user+" may do something else")
		}
	}
	return p.check()
}

// relative reports whether a word is the path of a program of the working directory, which need not
// be what it is called.
func relative(word string) bool { return strings.ContainsAny(word, `/\`) && !absolute(word) }

func (p *parser) start() error {
	switch p.user {
	case "npx":
		return p.npx()
	case "npm exec":
		return p.npmExec()
	case "bunx":
		return p.bunx()
	case "bun x":
		return p.bunX()
	case "pnpx":
		return p.pnpmDlx()
	case "pnpm dlx":
		return p.pnpm()
	case "yarn dlx":
		return p.yarn()
	case "uvx":
		return p.uvx()
	case "uv tool run":
		return p.uv()
	}
	return p.pipx()
}

// find returns the launcher that the program name is with the words after it, as a user calls it,
// or "". After node, it removes the word that names the launcher's script.
func (p *parser) find(name string) string {
	if name == "node" || name == "nodejs" {
		if len(p.words) == 0 || p.words[0] == "" || !absolute(p.words[0]) {
			return ""
		}
		name = programName(p.words[0])
		if name != "npx-cli.js" && name != "npm-cli.js" {
			return ""
		}
		p.words = p.words[1:]
	}
	switch {
	case name == "npx" || name == "npx-cli.js":
		return "npx"
	case (name == "npm" || name == "npm-cli.js") && (p.has("exec") || p.has("x")):
		return "npm exec"
	case name == "bunx", name == "pnpx", name == "uvx":
		return name
	case name == "bun" && p.has("x"):
		return "bun x"
	case name == "pnpm" && p.has("dlx"):
		return "pnpm dlx"
	case (name == "yarn" || name == "yarnpkg") && p.has("dlx"):
		return "yarn dlx"
	case name == "uv" && p.has("tool") && p.has("run"):
		return "uv tool run"
	case name == "pipx" && p.has("run"):
		return "pipx run"
	}
	return ""
}

func (p *parser) has(word string) bool {
	for _, w := range p.words {
		if w == word {
			return true
		}
		if w == "--" {
			return false
		}
	}
	return false
}

func (p *parser) check() error {
	if len(p.line.Packages) == 0 {
		return p.bad("", NoPackage)
	}
	if p.line.Dir == "" {
		return nil
	}
	for _, s := range p.line.Packages {
		if s.Kind == File || s.Kind == Directory {
			return p.bad(s.Raw, "env -C changes the directory that this path begins in")
		}
	}
	if len(p.line.Requirements) > 0 {
		return p.bad("", "env -C changes the directory that the files of requirements are in")
	}
	return nil
}

func (p *parser) bad(word, why string) error {
	return &NotUnderstoodError{Launcher: p.user, Word: word, Why: why}
}

func programName(word string) string {
	name := word
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	n := len(name)
	if n > 4 && name[n-4] == '.' || windowsPath(word) {
		if i := strings.LastIndexByte(name, '\\'); i >= 0 {
			name = name[i+1:]
		}
		for _, suffix := range [...]string{".exe", ".cmd", ".ps1", ".bat"} {
			if n := len(name) - len(suffix); n > 0 && strings.EqualFold(name[n:], suffix) {
				return strings.ToLower(name[:n])
			}
		}
	}
	return name
}

func windowsPath(word string) bool {
	if len(word) < 3 {
		return false
	}
	letter := word[0] | 0x20
	return letter >= 'a' && letter <= 'z' && word[1] == ':' && (word[2] == '\\' || word[2] == '/') || strings.HasPrefix(word, `\\`)
}

func absolute(word string) bool { return word[0] == '/' || windowsPath(word) }

// ErrNotLauncher says that a command starts a program directly, without fetching a package.
var ErrNotLauncher = errors.New("the command is not a package launcher")

// NoPackage is the Why of a NotUnderstoodError for a line that names no package.
const NoPackage = "it names no package"

// NotUnderstoodError says that a command is a launcher, and that its line may mean something
// that this package cannot express.
type NotUnderstoodError struct {
	Launcher string // as a user calls it: "npx", "uv tool run"; also "sh", "env", "cmd"
	Word     string // the word that is not understood; "" if a word is missing
	Why      string
}

func (e *NotUnderstoodError) Error() string {
	text := "mcp-jail does not take this " + e.Launcher + " line apart: "
	if e.Word != "" {
		text += strconv.Quote(show.Abbreviate(e.Word)) + ": "
	}
	return text + e.Why + ". The line runs as it is given"
}
