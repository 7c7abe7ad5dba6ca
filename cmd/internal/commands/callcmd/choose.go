package callcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Chooser finds the server that a word of the command line means.
type Chooser struct {
	index.Choice
	Config []string // files of configuration that are read in place of those of clients
	Inputs []string // NAME=VALUE, or the NAME of a variable: what a client would ask for
	Server string
	Verb   string // the command, for advice
}

// target is a server, and how it is started.
type target struct {
	Argv []string           // of mcp-jail, from run on
	Env  []clients.Variable // that the client of the entry sets
	Dir  string
	Root string // the directory of the project that the entry belongs to, or ""

	Key     string       // under which mcp-jail keeps what belongs to the server
	entry   *index.Entry // nil for a server of the configuration
	Place   string       // of the entry, in words
	wrapped bool         // it starts in mcp-jail without this command, too
	grant   []string     // the command that grants something to the server; nil for one of --config
	Notes   []string
}

// Choose finds the server.
func (k *Chooser) Choose(c terminal.Console) (*target, error) {
	if len(k.Config) > 0 {
		if !k.Everything() {
			return nil, terminal.UsageErrorf("--config is for a server of a configuration, and --client and --file are for one of a client: use one")
		}
		t := &target{Argv: []string{"run"}, Key: k.Server, wrapped: true}
		for _, file := range k.Config {
			t.Argv = append(t.Argv, "--config", file)
		}
		t.Argv = append(t.Argv, k.Server)
		return t, nil
	}
	x, err := k.Read()
	if err != nil {
		return nil, err
	}
	s, err := x.Pick(k.Server, (*index.Server).IsDeclared)
	if err != nil {
		return nil, err
	}
	t := &target{Key: s.Key, entry: s.EntryIn(x.Host.Dir), Dir: x.Host.Dir, grant: []string{cmdline.Main, "grant", s.Name}}
	if s.Table != nil && k.Everything() { // of its entries, only one that starts it by its name counts
		if t.entry = s.EntryByName(); t.entry == nil {
			t.Argv, t.wrapped = []string{"run", s.Table.Name}, true
			if s.Table.Project != "" {
				t.Root = filepath.Dir(s.Table.Project)
			}
			return t, nil
		}
	}
	if t.entry == nil {
		_, err := s.JailedEntry(k.Server)
		return nil, err
	}
	if x.ProgramErr != nil {
		return nil, x.ProgramErr
	}
	return t, k.prepare(c, x, t)
}

// prepare sets how the server of an entry is started.
func (k *Chooser) prepare(c terminal.Console, x *index.Index, t *target) error {
	e := t.entry
	t.Place = e.File.Client.Title + ", " + e.Place()
	argv := e.Argv()
	switch v := e.Verdict(); {
	case v.Jailed:
		t.wrapped = true
	case v.Repair != nil:
		t.wrapped = true
		t.Notes = append(t.Notes, fmt.Sprintf("the entry of %s %s; this session is by this mcp-jail, with the flags of the entry. `mcp-jail wrap` puts it there", show.Name(k.Server), v.Repair.Why))
	case v.Unclear:
		return terminal.UsageErrorf("%s (%s) is not started: it %s", show.Name(k.Server), t.Place, show.Line(string(v.Why)))
	default:
		var err error
		if argv, err = k.wrap(x, t); err != nil {
			return err
		}
	}
	s, err := e.AsClient(argv, index.ClientsHost(x.Host), k.asker(c, e.File))
	var unknown *wrapping.UnknownValueError
	var interrupted *terminal.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		return err
	case errors.As(err, &unknown):
		return terminal.UsageErrorf("%s: %s: %s", t.Place, err, k.howToGive(unknown.Reference))
	case err != nil:
		return terminal.UsageErrorf("%s: %s", t.Place, err)
	}
	line, _ := clients.ParseWrapped(s.Argv)
	t.Argv, t.Env, t.Root, t.Notes = s.Argv[len(line.Launcher)+1:], s.Env, s.Root, append(t.Notes, s.Notes...)
	t.Dir = cmp.Or(s.Dir, clientDir(e.File.Client, x.Host))
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return terminal.UsageErrorf("%s is started in %s, which is not a directory", t.Place, t.Dir)
	}
	if line.ID == "" && line.Argv != nil { // the key depends on what the client's variables are now
		host := x.Host
		host.Dir = t.Dir
		t.Key = session.KeyOf(host, line.Argv)
	}
	return nil
}

// clientDir returns the directory for a server whose client does not say one.
func clientDir(c clients.Client, host hostfs.Host) string {
	if c.Dir == clients.DirNone {
		return host.Home
	}
	return host.Dir
}

// wrap returns the command line that wrap would write for an entry.
func (k *Chooser) wrap(x *index.Index, t *target) ([]string, error) {
	e := t.entry
	change := e.File.Wrap(x.Program.Program, wrapping.Selection{Servers: []string{e.Server}}, index.ClientsHost(x.Host), wrapping.NewIDs(x.Host.ConfigDir, x.Files, nil))
	at := slices.IndexFunc(change.Servers, func(s wrapping.ServerChange) bool { return s.Key() == e.Key() })
	if at < 0 {
		return nil, fmt.Errorf("%s: the entry was not found again", t.Place)
	}
	s := change.Servers[at]
	if s.Left != "" {
		return nil, terminal.UsageErrorf("%s (%s) is not started, because wrap would not put it into a jail: it %s", show.Name(k.Server), t.Place, show.Line(s.Left))
	}
	note := fmt.Sprintf("%s is not wrapped: %s starts it without a jail. This session gives it the jail of `%s`",
		show.Name(k.Server), e.File.Client.Title, show.Spelled([]string{"mcp-jail", "wrap", "--client", e.File.Client.Name, "--server", e.Server}))
	if len(s.Gets) > 0 {
		note += ": " + strings.Join(s.Gets, "; ")
	}
	t.Notes = append(append(t.Notes, note), s.Notes...)
	return append([]string{x.Program.Path}, s.Try()...), nil
}

// Confirm asks before it starts what others may have written.
func (t *target) Confirm(c terminal.Console, yes bool) error {
	if t.entry == nil || !t.entry.File.IsProject() || yes {
		return nil
	}
	c.Notef("%s is in a file of this project, which others may have written. It starts in a jail, in %s:\n  %s", show.Line(t.Place), show.Line(t.Dir), show.Spelled(terminal.ShownWords(append([]string{cmdline.Main}, t.Argv...))))
	err := cli.Confirm(context.Background(), c, "Start it?")
	var interrupted *terminal.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		interrupted.Undone = "the server was not started"
	case err != nil && c.Asks():
		return errors.New("the server was not started: the answer was not yes")
	}
	return err
}

// asker returns a function for the values that only a client knows: from --input, from the user, or,
// for a file that an entry of the user's names, from there. It asks for each once.
func (k *Chooser) asker(c terminal.Console, f *wrapping.File) func(clients.Reference) (string, error) {
	answered := map[string]string{}
	return func(r clients.Reference) (string, error) {
		if value, ok, err := k.given(r.Name); ok || err != nil {
			return value, err
		}
		if value, ok := answered[r.Text]; ok {
			return value, nil
		}
		var value string
		var err error
		switch {
		case r.Kind == clients.FileText && !f.IsProject():
			file, readErr := ownfile.Read(r.Name)
			if readErr != nil {
				return "", readErr
			}
			value = strings.TrimRight(string(file.Data), "\n")
		case r.Kind == clients.Input && c.Asks(), r.Kind == clients.Secret && c.Asks():
			value, err = ask(c, f, r)
		default:
			err = &wrapping.UnknownValueError{Reference: r}
		}
		if err == nil {
			answered[r.Text] = value
		}
		return value, err
	}
}

// given returns the value of --input NAME=VALUE, or of the environment for --input NAME.
func (k *Chooser) given(name string) (value string, ok bool, err error) {
	for _, in := range k.Inputs {
		given, value, has := strings.Cut(in, "=")
		switch {
		case given != name:
		case has:
			return value, true, nil
		default:
			variable := variableFor(name)
			if value, ok := os.LookupEnv(variable); ok {
				return value, true, nil
			}
			return "", false, terminal.UsageErrorf("--input %s: the environment variable %s is not set", show.Name(name), variable)
		}
	}
	return "", false, nil
}

// variableFor returns the environment variable of an input: its name in capital letters, with "_" in
// place of what a variable cannot have.
func variableFor(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// ask asks the user for a value.
func ask(c terminal.Console, f *wrapping.File, r clients.Reference) (string, error) {
	in := wrapping.Input{Hidden: true}
	if r.Kind == clients.Input {
		in = wrapping.InputOf(f, r.Name)
	}
	question := show.Name(r.Name)
	if in.Description != "" {
		question = show.Line(in.Description) + " (" + question + ")"
	}
	if len(in.Options) > 0 {
		question += ", one of " + show.Line(strings.Join(in.Options, ", "))
	}
	if in.Default != "" {
		question += " [" + show.Line(in.Default) + "]"
	}
	value, err := cli.AskText(c, question+": ", in.Hidden)
	if err != nil {
		return "", err
	}
	if value == "" {
		value = in.Default
	}
	if len(in.Options) > 0 && !slices.Contains(in.Options, value) {
		return "", terminal.UsageErrorf("%s is not one of %s", show.Quote(value), strings.Join(in.Options, ", "))
	}
	return value, nil
}

// howToGive says how a value can be given that was not asked for.
func (k *Chooser) howToGive(r clients.Reference) string {
	if r.Name == "" {
		return "start the server from its client"
	}
	return "there is no terminal to ask on. Give it with  " + show.Typed(cmdline.Main+" "+k.Verb+" --input", r.Name+"=VALUE") + " ...  or set " + variableFor(r.Name) + " and give  --input " + show.Name(r.Name)
}
