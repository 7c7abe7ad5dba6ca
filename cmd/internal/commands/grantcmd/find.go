package grantcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/identity"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// server is a server with its file, which may not be there yet.
type server struct {
	name  string // of the file, without ".toml"
	id    string // the id, the key of a line, or the name of a table
	adds  bool   // the file only adds to a line or a table
	words []string
	dir   string // where its client starts it; "" if only the client knows
	place string // where that is said, in words

	line     *entries.WrappedServer // nil if no client's file starts it
	starters []clients.Client
}

// found are the servers that a word means.
type found struct {
	host    hostfs.Host
	files   []*config.ServerFile
	servers []*server
	others  []string // entries that start no server in this mcp-jail, each with what to do
}

// find returns the servers that the name of the server means: the one whose file has it, or those of entries, of the
// configuration and of records.
func (g *grantCmd) find(host hostfs.Host) ([]*server, error) {
	all := &found{host: host}
	var broken []error
	all.files, broken = config.ServerFiles(host.ConfigDir)
	for _, err := range broken {
		if strings.HasPrefix(err.Error(), filepath.Join(host.ConfigDir, config.ServersDir, g.server+".toml")+":") {
			return nil, err
		}
	}
	choice := entries.Choice{}
	_, clientFiles, err := choice.Find()
	if err != nil {
		return nil, err
	}
	program, err := entries.FindProgram(host)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range clientFiles {
		for _, e := range f.Entries {
			names = append(names, e.Server)
			all.entry(f, e, f.Judge(e, program.Program, entries.ClientsHost(host)), g.server)
		}
	}
	wrong := all.table(g.server, host.Dir, nil, g.server)
	all.record(g.server)
	for _, f := range all.files {
		if f.Server.Name == g.server {
			all.add(&server{id: f.Server.ID, adds: !identity.IsID(f.Server.ID), words: wordsOf(f.Server), place: show.Line(cli.ShortPath(f.Path, host.Home))})
		}
	}
	for _, s := range all.servers {
		if s.name == g.server {
			return []*server{s}, nil
		}
	}
	switch {
	case len(all.servers) > 0:
		return all.servers, nil
	case len(all.others) > 0:
		return nil, exit.UsageErrorf("%s", strings.Join(all.others, "\n"))
	case wrong != nil:
		return nil, wrong
	}
	return nil, g.unknown(clientFiles, names)
}

func wordsOf(s *config.Server) []string {
	if s.Command == "" {
		return nil
	}
	return append([]string{s.Command}, s.Arguments...)
}

// add adds a server, or what is known of it beside what is there.
func (a *found) add(s *server) {
	for _, o := range a.servers {
		if o.id == s.id && (o.words == nil) == (s.words == nil) {
			o.dir, o.line, o.starters = cmp.Or(o.dir, s.dir), cmp.Or(o.line, s.line), append(o.starters, s.starters...)
			return
		}
	}
	s.name = a.fileName(s)
	a.servers = append(a.servers, s)
}

// fileName returns the name for the file of a server: that of the file that it has, or one that none has.
func (a *found) fileName(s *server) string {
	name := identity.FileName(s.id)
	if s.words != nil {
		name = identity.Short(s.id)
	}
	taken := map[string]bool{}
	for _, f := range a.files {
		if f.Server.ID == s.id {
			return f.Server.Name
		}
		taken[f.Server.Name] = true
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// entry adds the server of an entry that a word means.
func (a *found) entry(f *wrapping.File, e wrapping.Entry, v wrapping.Verdict, word string) {
	w := entries.Jailed(f, e, v.Line, a.host)
	where := fmt.Sprintf("%s (%s)", f.Client.Title, w.Place())
	s := &server{dir: startDir(w, entries.ClientsHost(a.host)), place: where, line: w, starters: append([]clients.Client{f.Client}, f.Also...)}
	flags, err := cmdline.ParseRun(append([]string{"run"}, w.Line().Flags...))
	called := e.Server == word
	other := func(format string, args ...any) {
		if called {
			a.others = append(a.others, fmt.Sprintf("%s of %s ", entries.ServerTitle(e), where)+fmt.Sprintf(format, args...))
		}
	}
	switch {
	case !v.Jailed && v.Repair != nil:
		other("%s. To put this mcp-jail there:  %s", strings.TrimSpace(entries.WhyUnclear(v, a.host.Home)), show.Typed("mcp-jail wrap --server", e.Server))
	case !v.Jailed && v.Unclear:
		other("%s", strings.TrimSpace(entries.WhyUnclear(v, a.host.Home)))
	case !v.Jailed && v.Why != "":
		other("starts without a jail, and can reach what you can: it %s", v.Why)
	case !v.Jailed:
		other("starts without a jail, and can reach what you can: put mcp-jail in front first, with  %s", show.Typed("mcp-jail wrap --server", e.Server))
	case err != nil:
		other("cannot start: %s", err)
	case v.Line.Argv == nil && (called || v.Line.Name == word) && flags.Config != nil:
		other("has its policy in a file of its own, %s: change it there", show.Spelled(flags.Config))
	case v.Line.Argv == nil:
		if called || v.Line.Name == word {
			if err := a.table(v.Line.Name, s.dir, s, v.Line.Name); err != nil {
				other("starts the server %s of mcp-jail's configuration: %s", show.Name(v.Line.Name), exit.OneLine(err))
			}
		}
	case flags.ID != "":
		if s.id, s.words = flags.ID, w.Line().Argv; called || s.id == word {
			a.add(s)
		}
	default:
		kept := entries.KeptName(f, e, w.Line(), a.host)
		known := a.key(s)
		switch {
		case known && (called || kept == word || identity.Short(s.id) == word):
			a.add(s)
		case !known:
			other("has no id, and its line and directory are not known: start it once, or give it an id, with  %s", show.Typed("mcp-jail wrap --server", e.Server))
		}
	}
}

// key finds the key of an entry without an id: by where it starts, or by the one line that was started and can be its.
func (a *found) key(s *server) bool {
	raw, _ := clients.ParseWrapped(s.line.Entry.Argv())
	s.adds, s.words = true, raw.Argv // with the client's variables, which may hold secrets
	argv := s.line.Line().Argv
	if s.dir != "" && !slices.ContainsFunc(argv, s.line.File.References) {
		host := a.host
		host.Dir = s.dir
		s.id = session.KeyOf(host, argv)
		return true
	}
	known, err := stored.Known(a.host)
	if err != nil {
		return false
	}
	for _, o := range known.Servers {
		c := o.About.Configuration
		if c == nil || c.ID == "" || c.Configured || s.dir != "" && s.dir != c.Workspace || !identity.Same(argv, o.About.Command) {
			continue
		}
		if s.id != "" {
			return false
		}
		s.id, s.dir = c.ID, c.Workspace
	}
	return s.id != ""
}

// table adds a server of the configuration that holds in a directory. by is the entry that starts it; nil for none.
func (a *found) table(name, dir string, by *server, word string) error {
	cfg, ignored, err := session.LoadTrusted(config.LoadOptions{Workspace: dir}, a.host)
	switch {
	case err != nil:
		return err
	case cfg.Servers[name] == nil && ignored != nil:
		return ignored
	case cfg.Servers[name] == nil && by != nil:
		return errors.New("no file of the configuration has it")
	case cfg.Servers[name] == nil:
		return nil
	case cfg.Servers[name].Project != "":
		return exit.UsageErrorf("%s is a server of the project's file: change it there, at %s, and trust it again, with  %s", show.Name(name), show.Line(cli.ShortPath(cfg.Servers[name].Where, a.host.Home)), show.Typed("mcp-jail trust", cfg.Servers[name].Project))
	}
	s := &server{}
	if by != nil {
		s = by
	}
	s.id, s.adds = name, true
	s.place = "table of the configuration (" + show.Line(cli.ShortPath(cfg.Servers[name].Where, a.host.Home)) + ")"
	a.add(s)
	return nil
}

// record adds the server of a session that a word means, if nothing else has the word.
func (a *found) record(word string) {
	if len(a.servers)+len(a.others) > 0 {
		return
	}
	known, err := stored.Known(a.host)
	if err != nil {
		return
	}
	of, err := known.Find(word)
	if err != nil {
		return
	}
	switch c := of.About.Configuration; {
	case c == nil:
	case c.Configured && c.ID == "":
		_ = a.table(of.Name, c.Workspace, nil, word) // else nothing has it any more
	case c.Configured:
		for _, f := range a.files {
			if f.Server.ID == c.ID {
				a.add(&server{id: c.ID, words: wordsOf(f.Server), place: show.Line(cli.ShortPath(f.Path, a.host.Home))})
			}
		}
	case c.ID != "":
		a.add(&server{id: c.ID, adds: true, words: of.About.Command, dir: c.Workspace, place: "started by hand in " + show.Line(cli.ShortPath(c.Workspace, a.host.Home))})
	}
}

// startDir returns the directory in which a client starts an entry, or "" if it is not known. An entry for all
// projects has one in each of them, and not where the user is.
func startDir(w *entries.WrappedServer, host clients.Host) string {
	f, e := w.File, w.Entry
	everywhere := !f.IsProject() && e.For == ""
	elsewhere := slices.ContainsFunc(append([]clients.Client{f.Client}, f.Also...), func(c clients.Client) bool { return c.Dir != clients.DirProject && c.Dir != clients.DirOpen })
	if e.Cwd == "" && (everywhere || elsewhere) {
		return ""
	}
	if everywhere {
		host.Project = ""
	}
	dir := f.StartDir(e, host)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// unknown returns the error about a name that nothing has.
func (g *grantCmd) unknown(files []*wrapping.File, names []string) error {
	text := fmt.Sprintf("there is no server %q; `mcp-jail status` shows the servers of clients", g.server)
	switch near := config.Suggest(g.server, names); {
	case near != "":
		text = fmt.Sprintf("there is no server %q; did you mean %q?", g.server, near)
	case len(names) == 0:
		text = fmt.Sprintf("there is no server %q: no client has servers, and no line that you typed yourself has that name", g.server)
	}
	for _, f := range files {
		if f.Err != nil {
			text += "\nA file could not be read: " + cli.ShortPath(f.Err.Error(), g.home)
		}
	}
	return exit.UsageErrorf("%s", text)
}

// choose returns the server that is meant.
func (g *grantCmd) choose(c terminal.Console, all []*server) (*server, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	text := fmt.Sprintf("%s may be any of %d servers", g.server, len(all))
	if g.yes || !c.Asks() {
		text += "; choose one:"
		for _, s := range all {
			text += "\n  " + s.place + "\n     " + g.commandFor(s.name)
		}
		return nil, exit.UsageErrorf("%s", text)
	}
	text += ":\n"
	for i, s := range all {
		text += fmt.Sprintf("  %d  %s  %s\n", i+1, s.name, s.place)
	}
	c.PrintText(text)
	answer, err := cli.AskLine(c, "which one? Its number:")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(answer)
	if err != nil || n < 1 || n > len(all) {
		return nil, errors.New("nothing was changed: the answer is not a number of the list")
	}
	return all[n-1], nil
}

// commandFor returns this command for a server, for a shell.
func (g *grantCmd) commandFor(server string, more ...string) string {
	words := g.PolicyFlags.Words()
	if g.last {
		words = append(words, "--last")
	}
	if g.remove {
		words = append([]string{"--remove"}, words...)
	}
	if g.tool != "" {
		words = append(words, "--tool", g.tool)
	}
	return commandOf(server, append(words, more...))
}

// commandOf returns a command line of grant, for a shell.
func commandOf(server string, words []string) string {
	line := show.Typed("mcp-jail grant", server)
	for _, w := range words {
		word, _ := show.Path(w)
		line += " " + word
	}
	return show.Line(line)
}
