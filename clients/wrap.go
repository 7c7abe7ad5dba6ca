package clients

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Edit is a change of one entry, for an editor of its file: it removes the first Drop words of the
// command line, and puts Words there. Every other word is moved as it is spelt in the file, with
// its quotes and escapes. Nothing else changes.
//
// The command line is the value at Shape.Command followed by the list at Shape.Args, or the
// list at Shape.Command alone. If an editor adds or empties the list at Shape.Args, a later Drop
// must undo that.
type Edit struct {
	Drop  int
	Words []string
}

// Wrapping is how an entry is put into the jail.
type Wrapping struct {
	Before  []string // words before Program that start it, such as those of WSLWords
	Program string   // mcp-jail
	ID      string   // of the server; "" for one without a file of its own
	Flags   []string // more flags of run, which the entry has already
}

// words returns the words in front of a server's command line.
func (w Wrapping) words() []string {
	words := slices.Concat(w.Before, []string{w.Program, "run"})
	if w.ID != "" {
		words = append(words, "--id", w.ID)
	}
	return append(append(words, w.Flags...), "--")
}

// Wrapped is a command line that starts mcp-jail.
type Wrapped struct {
	Launcher []string // what starts Program, such as "npx -y"; as a rule it is missing
	Program  string
	Name     string   // the value of --name, or the server of "run SERVER"
	ID       string   // the value of --id
	Flags    []string // what is between run and "--", as it is written
	Argv     []string // the original; nil for "run SERVER", which names a server of mcp-jail's configuration
}

// Errors of Wrap and Unwrap.
var (
	errLeft       = errors.New("it has to stay as it is")
	errNotWrapped = errors.New("its command line is not that of wrap")
)

// Wrap returns the edit that puts an entry into the jail. In the place of words that start mcp-jail
// already it puts those of w. An entry for a server of the configuration gets the program alone.
func (e Entry) Wrap(w Wrapping) (Edit, error) {
	if e.Left == "" && e.Command == "" {
		e.Left = NoCommand
	}
	edit, argv := Edit{}, e.Argv()
	was, wrapped := ParseWrapped(argv)
	switch {
	case e.Left != "" && !wrapped:
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: %w, because it %s", e.Server, e.Client, errLeft, e.Left)
	case !isOurs(w.Program):
		return Edit{}, fmt.Errorf("server %s of %s is not wrapped: unwrap would not recognise %q; its base name has to be mcp-jail", e.Server, e.Client, w.Program)
	case wrapped && was.Argv == nil:
		edit.Drop, edit.Words = len(was.Launcher)+1, append(slices.Clone(w.Before), w.Program)
		return edit, nil
	case wrapped:
		edit.Drop = len(argv) - len(was.Argv)
	}
	if edit.Words = w.words(); slices.Equal(edit.Words, argv[:edit.Drop]) {
		edit.Drop, edit.Words = 0, nil
	}
	return edit, nil
}

// Unwrap returns the edit that takes an entry out of the jail.
func (e Entry) Unwrap() (Edit, error) {
	argv := e.Argv()
	wrapped, ok := ParseWrapped(argv)
	if !ok {
		return Edit{}, fmt.Errorf("server %s of %s is not unwrapped: %w", e.Server, e.Client, errNotWrapped)
	}
	if wrapped.Argv == nil {
		return Edit{}, fmt.Errorf("server %s of %s is not unwrapped: %w: the entry starts server %q of mcp-jail's configuration, which has its command", e.Server, e.Client, errNotWrapped, wrapped.Name)
	}
	return Edit{Drop: len(argv) - len(wrapped.Argv)}, nil
}

// Apply returns the command line that an edit makes of another one.
func (d Edit) Apply(argv []string) []string {
	return append(slices.Clone(d.Words), argv[min(d.Drop, len(argv)):]...)
}

// ParseWrapped takes apart a command line that starts mcp-jail. It reports false for every other
// one.
func ParseWrapped(argv []string) (Wrapped, bool) {
	at := launcherWords(argv)
	launcher, argv := argv[:at:at], argv[at:]
	if len(argv) < 3 || at == 0 && !isOurs(argv[0]) || argv[1] != "run" {
		return Wrapped{}, false
	}
	w := Wrapped{Launcher: launcher, Program: argv[0], Flags: argv[2:]}
	// Without --, the entry names a server of the configuration.
	if i := slices.Index(argv, "--"); i >= 0 {
		if i+1 == len(argv) {
			return Wrapped{}, false
		}
		w.Flags, w.Argv = argv[2:i], argv[i+1:]
	}
	for i := 0; i < len(w.Flags); i++ {
		word, value, joined := strings.Cut(w.Flags[i], "=")
		if strings.HasPrefix(word, "--") && !joined {
			if i++; i >= len(w.Flags) {
				return Wrapped{}, false // every flag of run has a value: this one takes the "--"
			}
			value = w.Flags[i]
		}
		switch {
		case word == "--name":
			w.Name = value
		case word == "--id":
			w.ID = value
		case !strings.HasPrefix(word, "-") && w.Argv == nil:
			w.Name = w.Flags[i]
		}
	}
	return w, true
}

func isOurs(program string) bool {
	base := baseName(program)
	return base == "mcp-jail" || strings.EqualFold(base, "mcp-jail.exe")
}

func baseName(program string) string { return program[strings.LastIndexAny(program, `/\`)+1:] }

// launchers are programs that start another one on this host, as the first words of a line name them.
var launchers = [][]string{{"npx"}, {"pnpx"}, {"bunx"}, {"npm", "exec"}, {"npm", "x"}, {"bun", "x"}, {"pnpm", "dlx"}, {"pnpm", "exec"}, {"yarn", "dlx"}, {"yarn", "exec"}, {"go", "run"}, {"env"}}

// launcherWords returns how many words of a command line come before the mcp-jail that a launcher starts,
// as in "npx -y mcp-jail@latest run …". It is 0 if the line is another one.
func launcherWords(argv []string) int {
	if n := wslWords(argv); n > 0 {
		return n
	}
	for _, words := range launchers {
		if len(argv) < len(words)+2 || strings.TrimSuffix(baseName(argv[0]), ".cmd") != words[0] || !slices.Equal(argv[1:len(words)], words[1:]) {
			continue
		}
		i := len(words)
		for i < len(argv) && strings.HasPrefix(argv[i], "-") && words[0] != "env" {
			if i++; argv[i-1] == "-p" || argv[i-1] == "--package" { // these have a value
				i++
			}
		}
		if i >= len(argv) {
			return 0
		}
		// A package may have a version: the path of go run, too.
		program, _, _ := strings.Cut(argv[i], "@")
		if isOurs(program) {
			return i
		}
	}
	return 0
}
