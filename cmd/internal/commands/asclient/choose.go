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
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Chooser finds the server that a name on the command line means.
type Chooser struct {
	entries.Choice
	Config []string // files of configuration that are read in place of those of clients
	Inputs []string // NAME=VALUE, or the NAME of a variable: what a client would ask for
	Server string
	Verb   string   // the command, for advice
	After  []string // the words after the server, for advice
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
	Entry   *wrapping.Entry
	EntryOf *wrapping.File
	Line    []string
}

// found is an entry that a name means.
type found struct {
	file    *wrapping.File
	entry   wrapping.Entry
	verdict wrapping.Verdict
}

// Choose finds the server.
func (k *Chooser) Choose(c terminal.Console) (*Target, error) {
	if len(k.Config) > 0 {
		if !k.Everything() {
			return nil, exit.UsageErrorf("--config is for a server of a configuration, and --client and --file are for one of a client: use one")
		}
		return k.configured(k.Config)
	}
	host, files, err := k.Find()
	if err != nil {
		return nil, err
	}
	program, err := entries.FindProgram(host)
	if err != nil {
		return nil, err
	}
	all := k.named(host, files, program)
	if k.Everything() {
		isConfigured, err := configuredHere(host, k.Server)
		if err != nil {
			return nil, err
		}
		if isConfigured {
			// Of the entries, only one that starts this server counts.
			all = slices.DeleteFunc(all, func(f found) bool {
				return !f.verdict.Jailed || f.verdict.Line.Argv != nil || f.verdict.Line.Name != k.Server || f.file.IsProject()
			})
			if len(all) == 0 {
				return k.configured(nil)
			}
			all = all[:1]
		}
	}
	one, err := k.oneOf(host, all, files)
	if err != nil {
		return nil, err
	}
	return k.prepare(c, host, program, one)
}

// configuredHere reports whether the configuration has a server of a name.
func configuredHere(host hostfs.Host, name string) (bool, error) {
	cfg, ignored, err := session.LoadTrusted(config.LoadOptions{}, host)
	if err != nil {
		return false, err
	}
	if cfg.Servers[name] == nil && ignored != nil {
		return false, nil // a client may have it; without one, this is said
	}
	return cfg.Servers[name] != nil, nil
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

// named returns the entries that a client calls by the name, or that mcp-jail keeps under it. Those of
// the user come first.
func (k *Chooser) named(host hostfs.Host, files []*wrapping.File, program entries.Program) (all []found) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *wrapping.File) int {
		return cmp.Compare(cli.FalseFirst(a.IsProject()), cli.FalseFirst(b.IsProject()))
	})
	own := entries.OwnNames(host)
	for _, f := range files {
		if f.Err != nil {
			continue
		}
		wrapping.SwitchOn(f)
		for _, e := range f.Entries {
			w, jailed := clients.ParseWrapped(e.Argv())
			if e.Server != k.Server && !(jailed && cmp.Or(own[w.ID], w.Name) == k.Server) {
				continue
			}
			one := found{f, e, f.Judge(e, program.Program, entries.ClientsHost(host))}
			if !slices.ContainsFunc(all, one.isSame) {
				all = append(all, one)
			}
		}
	}
	// An entry for another project counts if there is no other one.
	here := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.entry.For != "" && f.entry.For != host.Dir })
	if len(here) > 0 {
		all = here
	}
	return all
}

// isSame reports whether two entries start the same server in the same way.
func (f found) isSame(o found) bool {
	return slices.Equal(f.entry.Argv(), o.entry.Argv()) && slices.Equal(f.entry.Env, o.entry.Env) && f.entry.EnvFile == o.entry.EnvFile && f.entry.Cwd == o.entry.Cwd && f.entry.For == o.entry.For && f.file.IsProject() == o.file.IsProject()
}

// oneOf returns the only entry, or that of the user if it is the only one of the user's.
func (k *Chooser) oneOf(host hostfs.Host, all []found, files []*wrapping.File) (found, error) {
	switch {
	case len(all) == 0:
		return found{}, k.unknown(host, files)
	case len(all) == 1, !all[0].file.IsProject() && all[1].file.IsProject():
		return all[0], nil
	}
	if f, ok := ofProject(host, all); ok {
		return f, nil
	}
	var lines []string
	for _, f := range all {
		line := append([]string{programs.Main, k.Verb}, chosenBy(f, all)...)
		line = append(append(line, k.Server), k.After...)
		typed := show.Spelled(line)
		if f.entry.For != "" && f.entry.For != host.Dir {
			typed = show.InDir(f.entry.For, typed)
		}
		lines = append(lines, "  "+typed+"\n    "+f.file.Client.Title+", "+f.place(host.Home))
	}
	return found{}, exit.UsageErrorf("there are %d servers called %s; choose one:\n%s", len(all), show.Name(k.Server), strings.Join(lines, "\n"))
}

// ofProject returns the entry that a file has for the project here, if it has all of them: its client
// prefers that one to the entry for all projects.
func ofProject(host hostfs.Host, all []found) (one found, ok bool) {
	for _, f := range all {
		if f.file.Path != all[0].file.Path {
			return found{}, false
		}
		if f.entry.For == host.Dir {
			one, ok = f, true
		}
	}
	return one, ok
}

// chosenBy returns the flags that choose one of several entries.
func chosenBy(f found, all []found) []string {
	ofClient := func(o found) bool { return o.file.Client.Name == f.file.Client.Name }
	if n := len(slices.DeleteFunc(slices.Clone(all), func(o found) bool { return !ofClient(o) })); n == 1 {
		return []string{"--client", f.file.Client.Name}
	}
	return []string{"--file", f.file.Path}
}

func (f found) place(home string) string {
	return fmt.Sprintf("%s, line %d", cli.ShortPath(f.file.Path, home), f.entry.Line)
}

// unknown returns the error for a name that means no server.
func (k *Chooser) unknown(host hostfs.Host, files []*wrapping.File) error {
	var names []string
	var failed error
	for _, f := range files {
		if f.Err != nil {
			failed = f.Err
		}
		for _, e := range f.Entries {
			if !slices.Contains(names, e.Server) {
				names = append(names, e.Server)
			}
		}
	}
	cfg, ignored, err := session.LoadTrusted(config.LoadOptions{}, host)
	if err == nil && k.Everything() {
		names = append(names, cfg.ServerNames()...)
	}
	text := fmt.Sprintf("there is no server %s in the files of clients", show.Name(k.Server))
	if k.Everything() {
		text = fmt.Sprintf("there is no server %s, neither configured nor in the files of your clients", show.Name(k.Server))
	}
	if near := config.Suggest(k.Server, names); near != "" {
		text += fmt.Sprintf("; did you mean %s?", show.Name(near))
	} else if len(names) > 0 {
		text += "; `mcp-jail status` lists them"
	}
	if failed != nil {
		text += "\nA file could not be read: " + failed.Error()
	}
	if ignored != nil {
		text += "\nA file is not trusted, so its servers were left out: " + ignored.File
	}
	return exit.UsageErrorf("%w", &UnknownError{text})
}

// prepare returns how the server of an entry is started.
func (k *Chooser) prepare(c terminal.Console, host hostfs.Host, program entries.Program, f found) (*Target, error) {
	t := &Target{Client: f.file.Client.Name, File: f.file.Path, Project: f.file.IsProject()}
	t.Grant = []string{programs.Main, "grant", k.Server}
	t.Place = f.file.Client.Title + ", " + f.place(host.Home)
	argv := f.entry.Argv()
	switch {
	case f.verdict.Jailed:
		t.Wrapped = true
	case f.verdict.Repair != nil:
		t.Wrapped = true
		t.Notes = append(t.Notes, fmt.Sprintf("the entry of %s %s; this session is by this mcp-jail, with the flags of the entry. `mcp-jail wrap` puts it there", show.Name(k.Server), f.verdict.Repair.Why))
	case f.verdict.Unclear:
		return nil, exit.UsageErrorf("%s (%s) is not started: it %s", show.Name(k.Server), t.Place, show.Line(string(f.verdict.Why)))
	default:
		after, err := k.wrap(host, program, f, t)
		if err != nil {
			return nil, err
		}
		argv = after
	}
	t.Entry, t.EntryOf, t.Line = &f.entry, f.file, argv
	if f.entry.Disabled {
		t.Notes = append(t.Notes, f.file.Client.Title+" has it switched off: "+k.Verb+" starts it all the same")
	}
	clientsHost := entries.ClientsHost(host)
	s, err := f.entry.AsClient(argv, clientsHost, k.asker(c, f.file))
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
	t.Dir = cmp.Or(s.Dir, clientDir(f.file.Client, host))
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return nil, exit.UsageErrorf("%s is started in %s, which is not a directory", t.Place, t.Dir)
	}
	t.Stored = storedName(t, host)
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
func storedName(t *Target, host hostfs.Host) string {
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
	name, _ := stored.Here(host, t.Dir, flags.Server)
	return name
}

// wrap returns the command line that wrap would write for an entry.
func (k *Chooser) wrap(host hostfs.Host, program entries.Program, f found, t *Target) ([]string, error) {
	all, err := wrapping.Find(entries.ClientsHost(host), wrapping.Selection{})
	if err != nil {
		return nil, err
	}
	change := f.file.Wrap(program.Program, wrapping.Selection{Servers: []string{f.entry.Server}}, entries.ClientsHost(host), wrapping.NewIDs(host.ConfigDir, all, nil))
	at := slices.IndexFunc(change.Servers, func(s wrapping.ServerChange) bool { return s.Key() == f.entry.Key() })
	if at < 0 {
		return nil, fmt.Errorf("%s: the entry was not found again", t.Place)
	}
	s := change.Servers[at]
	if s.Left != "" {
		return nil, exit.UsageErrorf("%s (%s) is not started, because wrap would not put it into a jail: it %s", show.Name(k.Server), t.Place, show.Line(s.Left))
	}
	note := fmt.Sprintf("%s is not wrapped: %s starts it without a jail. This session gives it the jail of `%s`",
		show.Name(k.Server), f.file.Client.Title, show.Spelled([]string{"mcp-jail", "wrap", "--client", f.file.Client.Name, "--server", f.entry.Server}))
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

// UnknownError says that no server has a name.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }
