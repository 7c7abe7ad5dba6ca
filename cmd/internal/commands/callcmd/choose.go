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
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
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

// Target is a server, and how it is started.
type Target struct {
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
func (k *Chooser) Choose(c terminal.Console) (*Target, error) {
	if len(k.Config) > 0 {
		if !k.Everything() {
			return nil, exit.UsageErrorf("--config is for a server of a configuration, and --client and --file are for one of a client: use one")
		}
		t := &Target{Argv: []string{"run"}, Key: k.Server, wrapped: true}
		for _, file := range k.Config {
			t.Argv = append(t.Argv, "--config", file)
		}
		t.Argv = append(t.Argv, k.Server)
		return t, nil
	}
	k.SwitchOn = true
	x, err := k.Read()
	if err != nil {
		return nil, err
	}
	s, err := x.Pick(k.Server, (*index.Server).IsDeclared)
	if err != nil {
		return nil, err
	}
	t := &Target{Key: s.Key, entry: s.EntryIn(x.Host.Dir), Dir: x.Host.Dir, grant: []string{programs.Main, "grant", s.Name}}
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
func (k *Chooser) prepare(c terminal.Console, x *index.Index, t *Target) error {
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
		return exit.UsageErrorf("%s (%s) is not started: it %s", show.Name(k.Server), t.Place, show.Line(string(v.Why)))
	default:
		var err error
		if argv, err = k.wrap(x, t); err != nil {
			return err
		}
	}
	if e.Disabled {
		t.Notes = append(t.Notes, e.File.Client.Title+" has it switched off: "+k.Verb+" starts it all the same")
	}
	s, err := e.AsClient(argv, index.ClientsHost(x.Host), k.asker(c, e.File))
	var unknown *wrapping.UnknownValueError
	var interrupted *exit.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		return err
	case errors.As(err, &unknown):
		return exit.UsageErrorf("%s: %s: %s", t.Place, err, k.howToGive(unknown.Reference))
	case err != nil:
		return exit.UsageErrorf("%s: %s", t.Place, err)
	}
	line, _ := clients.ParseWrapped(s.Argv)
	t.Argv, t.Env, t.Root, t.Notes = s.Argv[len(line.Launcher)+1:], s.Env, s.Root, append(t.Notes, s.Notes...)
	t.Dir = cmp.Or(s.Dir, clientDir(e.File.Client, x.Host))
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return exit.UsageErrorf("%s is started in %s, which is not a directory", t.Place, t.Dir)
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
func (k *Chooser) wrap(x *index.Index, t *Target) ([]string, error) {
	e := t.entry
	change := e.File.Wrap(x.Program.Program, wrapping.Selection{Servers: []string{e.Server}}, index.ClientsHost(x.Host), wrapping.NewIDs(x.Host.ConfigDir, x.Files, nil))
	at := slices.IndexFunc(change.Servers, func(s wrapping.ServerChange) bool { return s.Key() == e.Key() })
	if at < 0 {
		return nil, fmt.Errorf("%s: the entry was not found again", t.Place)
	}
	s := change.Servers[at]
	if s.Left != "" {
		return nil, exit.UsageErrorf("%s (%s) is not started, because wrap would not put it into a jail: it %s", show.Name(k.Server), t.Place, show.Line(s.Left))
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
func (t *Target) Confirm(c terminal.Console, yes bool) error {
	if t.entry == nil || !t.entry.File.IsProject() || yes {
		return nil
	}
	c.Notef("%s is in a file of this project, which others may have written. It starts in a jail, in %s:\n  %s", show.Line(t.Place), show.Line(t.Dir), show.Spelled(shown.Words(append([]string{programs.Main}, t.Argv...))))
	err := cli.Confirm(context.Background(), c, "Start it?")
	var interrupted *exit.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		interrupted.Undone = "the server was not started"
	case err != nil && c.Asks():
		return errors.New("the server was not started: the answer was not yes")
	}
	return err
}
