package policy

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// This file matches the start of a program against the command rules (docs/policy.md "Command
// rules"). It is pure: confinement tells it what the kernel has loaded.

// AnyArgument and AnyArguments are the wildcards of CommandRule.Args. Each is a whole word.
const (
	AnyArgument  = "*"  // one argument
	AnyArguments = "**" // any number of arguments; the last word of a list
)

// A Command is a command rule resolved against one host.
type Command struct {
	Name   string     // as the rule has it
	Where  string     // the rule's place
	Args   [][]string // lists, one of which the arguments must match; nil: any arguments
	Envs   []string   // the variables besides the minimal set: names, and prefixes with a "*" at their end; nil: all
	Starts []Start    // the forms in which the kernel starts it
}

// A Start is a form in which the kernel starts a program: a binary, or a binary that is told to
// run a script.
type Start struct {
	File   string   // the canonical path of the binary
	Name   string   // argv[0], unless that is one of Paths; "": anything
	Paths  []string // absolute paths that argv[0] may be
	Lead   []string // the arguments before Script, from its #! line
	Script string   // the canonical path of the script; "" for a binary
}

// ProgramStart is a program that the kernel has loaded.
type ProgramStart struct {
	Argv     []string
	IsFile   func(path string) bool         // whether the binary is the file at path
	IsScript func(word, script string) bool // whether an argument leads to the script
}

// CommandMatch is what the command rules say of a start.
type CommandMatch struct {
	Allowed bool
	// Commands are the rules that allow the start, and And those of Profile.AndCommands. None: the server's own program.
	Commands, And []*Command
	// Argument is the index in argv of the script's path, which must be replaced by Script: a
	// name that the server can change must not lead elsewhere later. 0: none.
	Argument int
	Script   string
	// Program is the file that was started, and Name the rule for it, if there is one.
	Program, Name string
	Args          []string // the arguments that were matched
}

// ConstrainsStarts reports whether a command rule has arguments or variables, so that each start
// must be looked at.
func (p *Profile) ConstrainsStarts() bool { return len(p.CommandArgs) > 0 }

// MatchStart decides about a start. Rules for one file add up. The start of a script is a start
// of its interpreter too: rules for either allow it, and a rule for the script goes first. A file
// that no rule is about may be started if it belongs to the server's own program.
//
// Where there are AndCommands, they must allow the start as well.
func (p *Profile) MatchStart(s ProgramStart) CommandMatch {
	m := p.matchStart(s, p.Commands)
	if p.AndCommands == nil || !m.Allowed {
		return m
	}
	also := p.matchStart(s, p.AndCommands)
	if m.Script == "" { // what one list takes for the start of a script is that
		m, also = also, m
	}
	if also.Script != "" && (also.Script != m.Script || also.Argument != m.Argument) || !also.Allowed {
		m.Allowed = false
	}
	m.And = also.Commands
	return m
}

func (p *Profile) matchStart(s ProgramStart, commands []Command) CommandMatch {
	m := CommandMatch{}
	for i := range commands {
		c := &commands[i]
		for _, form := range c.Starts {
			at, ok := form.match(s)
			if !ok {
				continue
			}
			// A form that allows replaces one that does not, and a script's form that of its interpreter.
			allowed := c.allows(s.Argv[at+1:])
			switch {
			case m.Name == "" || allowed && !m.Allowed || allowed == m.Allowed && form.Script != "" && m.Script == "":
				m = CommandMatch{Allowed: allowed, Argument: at, Script: form.Script, Program: cmp.Or(form.Script, form.File), Name: c.Name, Args: s.Argv[at+1:]}
			case m.Script != form.Script || m.Argument != at:
				continue // this form is the start of another program than m is about
			}
			if allowed {
				m.Commands = append(m.Commands, c)
				break
			}
		}
	}
	if m.Name != "" || len(s.Argv) == 0 {
		return m
	}
	m.Args = s.Argv[1:]
	// No rule is about the file: the server may still start what it consists of itself.
	for _, own := range p.OwnPrograms {
		if s.IsFile(own) && !isBinary(s, commands) {
			m.Allowed, m.Program = true, own
		}
	}
	return m
}

// isBinary reports whether a rule is about the started file as a binary, and not about a script that
// it runs. It compares the file, because a file can have several names.
func isBinary(s ProgramStart, commands []Command) bool {
	for _, c := range commands {
		if slices.ContainsFunc(c.Starts, func(form Start) bool { return form.Script == "" && s.IsFile(form.File) }) {
			return true
		}
	}
	return false
}

// Accepts reports whether a program may be started in this form with this argv[0]. The directory
// in argv[0] counts too: Python finds its modules by it.
func (f Start) Accepts(name string) bool {
	return f.Name == "" || name == f.Name || slices.Contains(f.Paths, name)
}

// match reports whether a program was started in this form, and at which index of argv its
// script is; its arguments follow there. For a binary that is index 0.
func (f Start) match(s ProgramStart) (at int, ok bool) {
	if len(s.Argv) == 0 || !f.Accepts(s.Argv[0]) || !s.IsFile(f.File) {
		return 0, false
	}
	if f.Script == "" {
		return 0, true
	}
	at = 1 + len(f.Lead)
	if len(s.Argv) <= at || !slices.Equal(s.Argv[1:at], f.Lead) {
		return 0, false
	}
	return at, s.Argv[at] == f.Script || s.IsScript(s.Argv[at], f.Script)
}

func (c *Command) allows(args []string) bool {
	return c.Args == nil || slices.ContainsFunc(c.Args, func(list []string) bool { return MatchArguments(list, args) })
}

// MatchArguments reports whether arguments match a list word for word. The list may have the
// wildcards AnyArgument and, at its end, AnyArguments.
func MatchArguments(list, args []string) bool {
	for i, word := range list {
		if word == AnyArguments && i == len(list)-1 {
			return true
		}
		if i >= len(args) || word != AnyArgument && word != args[i] {
			return false
		}
	}
	return len(list) == len(args)
}

// Keeps reports whether a program that these rules allow gets a variable, NAME=VALUE. One rule
// of each list that passes it is enough. granted reports whether the server itself was given the variable
// with that value.
//
// A rule with envs passes the minimal set and the variables that it names, and no others. A
// rule with args and without envs passes every variable, except for an [IsDangerousVariable]
// one that is not granted.
func (m *CommandMatch) Keeps(variable string, granted func(string) bool) bool {
	return keeps(m.Commands, variable, granted) && keeps(m.And, variable, granted)
}

func keeps(commands []*Command, variable string, granted func(string) bool) bool {
	name, _, _ := strings.Cut(variable, "=")
	return len(commands) == 0 || slices.ContainsFunc(commands, func(c *Command) bool {
		switch {
		case c.Envs != nil:
			return IsMinimalVariable(name) || matchesName(c.Envs, name)
		case c.Args != nil && IsDangerousVariable(name):
			return granted(variable)
		}
		return true
	})
}

func matchesName(names []string, name string) bool {
	rules := make([]EnvRule, len(names))
	for i, n := range names {
		rules[i] = EnvRule{Name: n, Read: true}
	}
	_, ok := MatchEnv(rules, name)
	return ok
}

// CheckArguments validates one list of arguments of a command rule.
func CheckArguments(list []string) error {
	for i, word := range list {
		switch {
		case strings.Contains(word, "\x00"):
			return fmt.Errorf("an argument holds a NUL byte")
		case word == AnyArguments && i != len(list)-1:
			return fmt.Errorf("\"**\" is only allowed as the last word")
		}
	}
	return nil
}

//go:embed programs.txt
var programs string

// programRows are the rows of programs.txt.
var programRows = sync.OnceValue(func() (all []programRow) {
	for line := range strings.Lines(programs) {
		left, right, ok := strings.Cut(line, " :")
		if !ok || line[0] == '#' {
			continue
		}
		names, words := strings.Fields(left), strings.Fields(right)
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "%20", " ")
		}
		all = append(all, programRow{names[0], names[1:], words})
	}
	return all
})

type programRow struct {
	kind         string
	names, words []string
}

// ProgramWords returns the words of the rows of a kind in programs.txt that have a name, and whether there is
// one.
func ProgramWords(kind, name string) (words []string, ok bool) {
	for _, r := range programRows() {
		if r.kind == kind && slices.Contains(r.names, name) {
			words, ok = append(words, r.words...), true
		}
	}
	return words, ok
}

// ProgramRows calls do for each row of a kind in programs.txt.
func ProgramRows(kind string, do func(names, words []string)) {
	for _, r := range programRows() {
		if r.kind == kind {
			do(r.names, r.words)
		}
	}
}

// InterpreterFamily returns the language of an interpreter by its program name:
// "python3.11" is "python". It returns "" for any other program.
func InterpreterFamily(name string) string {
	language, _ := ProgramWords("language", strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.-"))
	return strings.Join(language, "")
}

// IsShell reports whether a program name is that of a shell.
func IsShell(name string) bool {
	_, ok := ProgramWords("shell", name)
	return ok
}

// ScriptArgument returns the first script among the arguments of an interpreter, or of a shell for "". It
// returns "" if the code comes from elsewhere (-e, -c, -m).
func ScriptArgument(lang string, args []string) string {
	if lang == "" {
		lang = "shell"
	}
	valued, _ := ProgramWords("value", lang)
	bare, _ := ProgramWords("bare", lang)
	for i := 0; i < len(args); i++ {
		a, next := args[i], ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case a == "--" || lang == "java" && a == "-jar":
			return next
		case lang == "java":
		case slices.Contains(bare, a):
			return ""
		// The next word is the value of this option.
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
