package clients

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Edit is a change of one entry, for an editor of its file: it removes Drop words from the
// start of the command line, and then puts Words there. Every other word keeps its place, and
// is moved as it is spelt in the file, with its quotes and escapes. Nothing else changes.
//
// The command line is the value at Shape.Command followed by the list at Shape.Args, or the
// list at Shape.Command alone. If an editor adds or empties the list at Shape.Args, a later Drop
// must undo that.
type Edit struct {
	Path  []string // of the entry
	Shape Shape    // the keys of the entry
	Drop  int
	Words []string
}

// Wrapping is how an entry is put into the jail.
type Wrapping struct {
	Program string   // the absolute path of mcp-jail
	Name    string   // of the server, for mcp-jail; "" for one made of what the client calls it
	Flags   []string // more flags of run
}

// Wrapped is a command line that starts mcp-jail.
type Wrapped struct {
	Program string
	Name    string   // the value of --name, or the server of "run SERVER"
	Flags   []string // what is between run and "--", as it is written
	Argv    []string // the original; nil for "run SERVER", which names a server of mcp-jail's configuration
}

// Errors of Wrap and Unwrap.
var (
	ErrLeft       = errors.New("it has to stay as it is")
	ErrNotWrapped = errors.New("its command line is not that of wrap")
	ErrFlags      = errors.New("a flag for mcp-jail run cannot be written there")
)

// Wrap returns the edit that puts an entry into the jail.
func (e Entry) Wrap(w Wrapping) (Edit, error) {
	if e.Left == "" && e.Command == "" {
		e.Left = NoCommand
	}
	if e.Left != "" {
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: %w, because it %s", e.Server, e.Client, ErrLeft, e.Left)
	}
	name := w.Name
	if name == "" {
		name = JailName(e.Server)
	}
	switch {
	case !isOurs(w.Program):
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: unwrap would not recognise %q; its base name has to be mcp-jail", e.Server, e.Client, w.Program)
	case !policy.ValidServerName(name) || name[0] == '-':
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: %q is no name for a server; use letters, digits, '.', '_' and '-'", e.Server, e.Client, name)
	case slices.Contains(w.Flags, "--"):
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: %w: \"--\" ends the flags; write it behind \"=\"", e.Server, e.Client, ErrFlags)
	case slices.ContainsFunc(w.Flags, func(f string) bool { return f == "--name" || strings.HasPrefix(f, "--name=") }):
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: %w: --name is given by Name", e.Server, e.Client, ErrFlags)
	}
	words := slices.Concat([]string{w.Program, "run", "--name", name}, w.Flags, []string{"--"})
	return Edit{Path: e.Path, Shape: e.Shape, Words: words}, nil
}

// Unwrap returns the edit that takes an entry out of the jail.
func (e Entry) Unwrap() (Edit, error) {
	argv := e.Argv()
	wrapped, ok := ParseWrapped(argv)
	if !ok {
		return Edit{}, fmt.Errorf("server %s of %s is not unwrapped: %w", e.Server, e.Client, ErrNotWrapped)
	}
	if wrapped.Argv == nil {
		return Edit{}, fmt.Errorf("server %s of %s is not unwrapped: %w: the entry starts server %q of mcp-jail's configuration, which has its command", e.Server, e.Client, ErrNotWrapped, wrapped.Name)
	}
	return Edit{Path: e.Path, Shape: e.Shape, Drop: len(argv) - len(wrapped.Argv)}, nil
}

// Apply returns the command line that an edit makes of another one.
func (d Edit) Apply(argv []string) []string {
	return slices.Concat(d.Words, argv[min(d.Drop, len(argv)):])
}

// ParseWrapped takes apart a command line that starts mcp-jail. It reports false for every other
// one.
func ParseWrapped(argv []string) (Wrapped, bool) {
	if len(argv) < 3 || !isOurs(argv[0]) || argv[1] != "run" {
		return Wrapped{}, false
	}
	w := Wrapped{Program: argv[0], Flags: argv[2:]}
	// Without --, the entry names a server of the configuration.
	if i := slices.Index(argv, "--"); i >= 0 {
		if i+1 == len(argv) {
			return Wrapped{}, false
		}
		w.Flags, w.Argv = argv[2:i], argv[i+1:]
	}
	for i := 0; i < len(w.Flags); i++ {
		word := w.Flags[i]
		name, inOne := strings.CutPrefix(word, "--name=")
		switch {
		case inOne:
			w.Name = name
		case strings.HasPrefix(word, "--") && !strings.Contains(word, "="):
			if i++; i >= len(w.Flags) {
				return Wrapped{}, false // every flag of run has a value: this one takes the "--"
			}
			if word == "--name" {
				w.Name = w.Flags[i]
			}
		case !strings.HasPrefix(word, "-") && w.Argv == nil:
			w.Name = word
		}
	}
	return w, true
}

func isOurs(program string) bool {
	base := program[strings.LastIndexAny(program, `/\`)+1:]
	return base == "mcp-jail" || strings.EqualFold(base, "mcp-jail.exe")
}

// JailName returns the name under which mcp-jail keeps a server. Clients allow names with blanks
// and other characters that mcp-jail does not allow. JailName changes such a name, and appends a
// hash that tells it from similar names.
func JailName(server string) string {
	if policy.ValidServerName(server) && server[0] != '-' {
		return server
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 128 && policy.ValidServerName("x"+string(r)) {
			return r
		}
		return '-'
	}, server), "-.")
	if len(name) > 40 {
		name = strings.TrimRight(name[:40], "-.")
	}
	if name == "" {
		name = "server"
	}
	return name + "-" + policy.ShortHash(server)
}
