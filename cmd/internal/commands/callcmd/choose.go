package callcmd

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Chooser finds the server that a word of the command line means.
type Chooser struct {
	index.Choice
	Inputs []string // NAME=VALUE, or the NAME of a variable: what a client would ask for
	Server string   // as it was typed; Choose puts the name of the server in its place
	Verb   string   // the command, for advice
}

// target is a server, and how it is started.
type target struct {
	Argv []string           // of mcp-jail, from run on
	Env  []clients.Variable // that the client of the entry sets
	Dir  string
	Root string // the directory of the project that the entry belongs to, or ""

	off    policy.Switches
	Key    string                              // under which mcp-jail keeps what belongs to the server
	entry  *index.Entry                        // nil for a server of the configuration
	Place  string                              // of the entry, in words
	grant  string                              // the command that grants what the last failure lacked
	decide func(diagnostics.Record) (can bool) // decides anew about what a record lacked
	Notes  []string
}

// Choose finds the server.
func (k *Chooser) Choose(c terminal.Console) (*target, error) {
	x, err := k.Read()
	if err != nil {
		return nil, err
	}
	s, err := x.Pick(k.Server, (*index.Server).IsDeclared)
	if err != nil {
		return nil, err
	}
	word := k.Server
	k.Server = s.Name
	t := &target{off: s.Switches(), Key: s.Key, Dir: x.Host.Dir, grant: show.Spelled([]string{cmdline.Main, "grant", s.Name, "--last"})}
	t.decide = func(r diagnostics.Record) bool {
		can, _ := grantcmd.Decide(x, s.Name, r)
		return can
	}
	if s.Table != nil && k.Everything() { // of its entries, only one that starts it by its name counts
		if t.entry = s.EntryByName(); t.entry == nil {
			t.Argv = []string{"run", s.Table.Name}
			if s.Table.Project != "" {
				t.Root = filepath.Dir(s.Table.Project)
			}
			return t, nil
		}
	} else if t.entry = s.EntryIn(x.Host.Dir); t.entry == nil || t.entry.Verdict().State != wrapping.Jailed {
		if t.entry, err = s.JailedEntry(word); err != nil {
			return nil, x.Untrusted(err)
		}
	}
	return t, k.prepare(c, x, t)
}

// prepare sets how the server of an entry is started.
func (k *Chooser) prepare(c terminal.Console, x *index.Index, t *target) error {
	e := t.entry
	t.Place = e.File.Client.Title + ", " + e.Place()
	s, err := e.AsClient(e.Argv(), index.ClientsHost(x.Host), k.asker(c, e.File))
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
	t.Argv, t.Env, t.Root, t.Notes = s.Argv[len(line.Launcher)+1:], s.Env, s.Root, s.Notes
	t.Dir = cmp.Or(s.Dir, clientDir(e.File.Client, x.Host))
	if line.Argv == nil && t.Dir == x.Host.Dir && x.Ignored != nil { // its start would say it after the question
		return x.Ignored
	}
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

// Confirm says what there is to know of a start, and asks about one of a line that others may have written.
func (t *target) Confirm(c terminal.Console, yes bool) error {
	for _, note := range t.Notes {
		c.Notef("%s %s", c.Paint(terminal.Yellow, "note:"), show.Line(note))
	}
	if t.entry == nil || !t.entry.File.IsProject() || yes {
		return nil
	}
	c.Notef("%s is from %s, which others may have written. It would start in a jail, in %s:\n  %s", index.ServerTitle(t.entry.Entry), t.entry.Place(), show.Line(t.Dir), show.Spelled(terminal.ShownWords(append([]string{cmdline.Main}, t.Argv...))))
	err := cli.Confirm(context.Background(), c, "Start it?")
	var interrupted *terminal.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		interrupted.Undone = "the server was not started"
	case err != nil && c.Asks():
		return &terminal.DeclinedError{}
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
			value, err = cli.AskText(c, show.Name(r.Name)+": ", true)
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

// howToGive says how a value can be given that was not asked for.
func (k *Chooser) howToGive(r clients.Reference) string {
	if r.Name == "" {
		return "start the server from its client"
	}
	return "there is no terminal to ask on. Give it with  " + show.Typed(cmdline.Main+" "+k.Verb+" --input", r.Name+"=VALUE") + " ...  or set " + variableFor(r.Name) + " and give  --input " + show.Name(r.Name)
}
