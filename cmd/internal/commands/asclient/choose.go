package asclient

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
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
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

// Chooser finds the server that a name on the command line means.
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

	Stored  string // the name under which mcp-jail keeps what belongs to the server
	Client  string // whose entry it is, or "" for a server of the configuration alone
	File    string
	Place   string   // the same in words
	Wrapped bool     // it starts in mcp-jail without this command, too
	Project bool     // others may have written the entry
	Grant   []string // the command that grants something to the server; nil for one of --config
	Notes   []string
	Files   []*os.File // that the session inherits after its standard streams
	// Entry is that of the client, with its command line as it is or as wrap would write it: nil for a
	// server of the configuration.
	Entry *index.Entry
	Line  []string
}

// Choose finds the server.
func (k *Chooser) Choose(c terminal.Console) (*Target, error) {
	if len(k.Config) > 0 {
		if !k.Everything() {
			return nil, exit.UsageErrorf("--config is for a server of a configuration, and --client and --file are for one of a client: use one")
		}
		return k.configured(k.Config)
	}
	k.SwitchOn = true
	x, err := k.Read()
	if err != nil {
		return nil, err
	}
	s, err := x.Pick(k.Server, (*index.Server).Declared)
	if err != nil {
		return nil, err
	}
	e := s.Here(x.Host.Dir)
	if s.Table != nil && k.Everything() { // of its entries, only one that starts it by its name counts
		if k.Server, e = s.Table.Name, s.Starter(); e == nil {
			return k.configured(nil)
		}
	}
	if e == nil {
		_, err := s.Jailed(k.Server)
		return nil, err
	}
	if x.ProgramErr != nil {
		return nil, x.ProgramErr
	}
	return k.prepare(c, x, s, e)
}

// configured returns a server of the configuration.
func (k *Chooser) configured(files []string) (*Target, error) {
	t, err := session.Load(cmdline.ConfigFlags{Config: files}, cmdline.PolicyFlags{}, k.Server, "", cmdline.Server{})
	if err != nil {
		return nil, err
	}
	argv := []string{"run"}
	for _, f := range t.Host.Configs {
		argv = append(argv, "--config", f)
	}
	made := &Target{Argv: append(argv, k.Server), Dir: t.Host.Dir, Stored: t.Policy.KeptName(), Wrapped: true}
	if t.Policy.Project != "" {
		made.Root = filepath.Dir(t.Policy.Project)
	}
	if files == nil {
		made.Grant = []string{programs.Main, "grant", k.Server}
	}
	return made, nil
}

// prepare returns how the server of an entry is started.
func (k *Chooser) prepare(c terminal.Console, x *index.Index, of *index.Server, e *index.Entry) (*Target, error) {
	host := x.Host
	t := &Target{Client: e.File.Client.Name, File: e.File.Path, Project: e.File.IsProject()}
	t.Grant = []string{programs.Main, "grant", of.Name}
	t.Place = e.File.Client.Title + ", " + e.Place()
	argv := e.Argv()
	switch v := e.Verdict(); {
	case v.Jailed:
		t.Wrapped = true
	case v.Repair != nil:
		t.Wrapped = true
		t.Notes = append(t.Notes, fmt.Sprintf("the entry of %s %s; this session is by this mcp-jail, with the flags of the entry. `mcp-jail wrap` puts it there", show.Name(k.Server), v.Repair.Why))
	case v.Unclear:
		return nil, exit.UsageErrorf("%s (%s) is not started: it %s", show.Name(k.Server), t.Place, show.Line(string(v.Why)))
	default:
		after, err := k.wrap(x, e, t)
		if err != nil {
			return nil, err
		}
		argv = after
	}
	t.Entry, t.Line = e, argv
	if e.Disabled {
		t.Notes = append(t.Notes, e.File.Client.Title+" has it switched off: "+k.Verb+" starts it all the same")
	}
	clientsHost := index.ClientsHost(host)
	s, err := e.AsClient(argv, clientsHost, k.asker(c, e.File))
	var unknown *wrapping.UnknownValueError
	var interrupted *exit.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		return nil, err
	case errors.As(err, &unknown):
		return nil, exit.UsageErrorf("%s: %s: %s", t.Place, err, k.howToGive(unknown.Reference))
	case err != nil:
		return nil, exit.UsageErrorf("%s: %s", t.Place, err)
	}
	line, _ := clients.ParseWrapped(s.Argv)
	t.Argv, t.Env, t.Root, t.Notes = s.Argv[len(line.Launcher)+1:], s.Env, s.Root, append(t.Notes, s.Notes...)
	t.Dir = cmp.Or(s.Dir, clientDir(e.File.Client, host))
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return nil, exit.UsageErrorf("%s is started in %s, which is not a directory", t.Place, t.Dir)
	}
	t.Stored = storedName(t, of, host)
	return t, nil
}

// clientDir returns the directory for a server whose client does not say one.
func clientDir(c clients.Client, host hostfs.Host) string {
	if c.Dir == clients.DirNone {
		return host.Home
	}
	return host.Dir
}

// storedName returns the name under which the session keeps what belongs to the server.
func storedName(t *Target, of *index.Server, host hostfs.Host) string {
	args, server := cmdline.Split(programs.Main, t.Argv)
	flags, err := cmdline.ParseRun(args)
	switch {
	case err != nil: // run says so
		return ""
	case flags.ID != "":
		return flags.ID
	case server.Given:
		host.Dir = cmp.Or(t.Dir, host.Dir)
		return session.KeyOf(host, server.Argv)
	}
	return of.Key
}

// wrap returns the command line that wrap would write for an entry.
func (k *Chooser) wrap(x *index.Index, e *index.Entry, t *Target) ([]string, error) {
	host, program := x.Host, x.Program
	all, err := wrapping.Find(index.ClientsHost(host), wrapping.Selection{})
	if err != nil {
		return nil, err
	}
	change := e.File.Wrap(program.Program, wrapping.Selection{Servers: []string{e.Server}}, index.ClientsHost(host), wrapping.NewIDs(host.ConfigDir, all, nil))
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
	t.Notes = append(t.Notes, note)
	t.Notes = append(t.Notes, s.Notes...)
	return append([]string{program.Path}, s.Try()...), nil
}

// Confirm asks before it starts what others may have written.
func (t *Target) Confirm(c terminal.Console, yes bool) error {
	if !t.Project || yes {
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
