package grantcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// place is an entry of a client's file, which has the policy of a server in its flags.
type place struct {
	*entries.WrappedServer
	clients clients.Host
	raw     []string // its flags, as the file has them
	kept    string   // the name under which mcp-jail keeps the records of the server
	dir     string   // where the client starts the server; "" if only the client knows

	table    *table.Place // of a server of the configuration; there is no entry then
	starters []clients.Client
	by       []*entries.WrappedServer // the entries that start it
}

// title names the place in a line of text.
func (p place) title() string {
	if p.table != nil {
		return fmt.Sprintf("table of the configuration (%s)", p.where())
	}
	title := p.File.Client.Title
	for _, also := range p.File.Also {
		title += ", " + also.Title
	}
	title += " (" + p.Place() + ")"
	if p.Entry.For != "" {
		title += ", for " + show.Line(p.Entry.For)
	}
	return title
}

// where returns the file with a line, for a line of text.
func (p place) where() string {
	if p.table != nil {
		return fmt.Sprintf("%s, line %d", show.Line(cli.ShortPath(p.table.Path, p.table.Home())), p.table.Line)
	}
	return p.Place()
}

// path returns the path of the file.
func (p place) path() string {
	if p.table != nil {
		return p.table.Path
	}
	return p.File.Path
}

// isProject reports whether others may have written the file.
func (p place) isProject() bool { return p.table == nil && p.File.IsProject() }

// found are the entries of a name.
type found struct {
	jailed []place
	others []string // those that start no server in this mcp-jail, each with what to do
}

// places returns the entries that the name of the server means.
func (g *grantCmd) places(host hostfs.Host) ([]place, error) {
	var own found // the tables of the configuration that holds here
	wrong := own.addTables(host, g.server, host.Dir, nil, nil, nil)
	choice := g.Choice
	if chosen, rest := own.in(g.Files); len(chosen) > 0 && len(rest) == 0 {
		return chosen, nil
	} else if !g.Everything() {
		own.jailed, choice.Files = chosen, rest
	}
	_, files, err := choice.Find()
	if err != nil {
		return nil, err
	}
	program, err := entries.FindProgram(host)
	if err != nil {
		return nil, err
	}
	var names []string
	match := func(name string) (all found) {
		for _, f := range files {
			for _, e := range f.Entries {
				line, wrapped := clients.ParseWrapped(e.Argv())
				if names = append(names, e.Server); e.Server == name || wrapped && entries.KeptName(f, e, line, host) == name {
					all.add(g, f, e, f.Judge(e, program.Program, entries.ClientsHost(host)), host)
				}
			}
		}
		return all
	}
	all := match(g.server)
	if len(all.jailed)+len(all.others) == 0 { // the name that mcp-jail keeps it under, or the beginning of that
		if known, err := stored.Known(host); err == nil {
			if of, err := known.Find(g.server); err == nil {
				all = match(of.Name)
			}
		}
	}
	for _, p := range own.jailed {
		if !slices.ContainsFunc(all.jailed, func(o place) bool { return o.path() == p.path() }) {
			all.jailed = append(all.jailed, p)
		}
	}
	switch {
	case len(all.jailed) > 0:
		return all.jailed, nil
	case wrong != nil:
		return nil, wrong
	case len(all.others) > 0:
		return nil, exit.UsageErrorf("%s", strings.Join(all.others, "\n"))
	}
	return nil, g.unknown(files, names)
}

func (a *found) add(g *grantCmd, f *wrapping.File, e wrapping.Entry, v wrapping.Verdict, host hostfs.Host) {
	if g.project != "" && !g.isOf(e) {
		return
	}
	w := entries.Jailed(f, e, v.Line, host)
	where := fmt.Sprintf("%s of %s (%s)", entries.ServerTitle(e), f.Client.Title, w.Place())
	switch {
	case v.Jailed && v.Line.Argv == nil:
		if err := a.addTables(host, v.Line.Name, f.StartDir(e, entries.ClientsHost(host)), v.Line.Flags, append([]clients.Client{f.Client}, f.Also...), w); err != nil {
			a.others = append(a.others, fmt.Sprintf("%s starts the server %s of mcp-jail's configuration: %s", where, show.Name(v.Line.Name), exit.OneLine(err)))
		}
	case v.Jailed:
		raw, _ := clients.ParseWrapped(e.Argv())
		as := entries.ClientsHost(host)
		a.jailed = append(a.jailed, place{WrappedServer: w, clients: as, raw: raw.Flags, kept: entries.KeptName(f, e, w.Line(), host), dir: startDir(w, as)})
	case v.Repair != nil:
		a.others = append(a.others, fmt.Sprintf("%s%s. To put this mcp-jail there, with the flags of the entry:  %s", where, entries.WhyUnclear(v, host.Home), show.Typed("mcp-jail wrap --server", e.Server)))
	case v.Unclear:
		a.others = append(a.others, where+entries.WhyUnclear(v, host.Home))
	case v.Why != "":
		a.others = append(a.others, fmt.Sprintf("%s starts without a jail, and can reach what you can: it %s", where, v.Why))
	default:
		a.others = append(a.others, fmt.Sprintf("%s starts without a jail, and can reach what you can: put mcp-jail in front first, with  %s", where, show.Typed("mcp-jail wrap --server", e.Server)))
	}
}

// startDir returns the directory that the relative paths of an entry start from, or "" if it is not
// known. An entry for all projects has one in each of them, and not where the user is.
func startDir(w *entries.WrappedServer, host clients.Host) string {
	f, e := w.File, w.Entry
	for _, flag := range granting.Split(w.Line().Flags) {
		if flag.Name == "--workspace" && filepath.IsAbs(flag.Value) && isDir(flag.Value) {
			return flag.Value
		}
	}
	everywhere := !f.IsProject() && e.For == ""
	elsewhere := slices.ContainsFunc(append([]clients.Client{f.Client}, f.Also...), func(c clients.Client) bool { return c.Dir != clients.DirProject && c.Dir != clients.DirOpen })
	if e.Cwd == "" && (everywhere || elsewhere) {
		return ""
	}
	if everywhere {
		host.Project = ""
	}
	if dir := f.StartDir(e, host); isDir(dir) {
		return dir
	}
	return ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (g *grantCmd) isOf(e wrapping.Entry) bool {
	if g.project == "none" {
		return e.For == ""
	}
	dir, err := session.AbsolutePath(g.project)
	return err == nil && e.For != "" && filepath.Clean(e.For) == dir
}

// unknown returns the error about a name that no entry has.
func (g *grantCmd) unknown(files []*wrapping.File, names []string) error {
	text := fmt.Sprintf("there is no server %q; `mcp-jail status` shows the servers of clients", g.server)
	switch near := config.Suggest(g.server, names); {
	case near != "":
		text = fmt.Sprintf("there is no server %q; did you mean %q?", g.server, near)
	case len(names) == 0:
		text = fmt.Sprintf("there is no server %q: no client has servers; the flags of a command that you type yourself belong on its line", g.server)
	}
	for _, f := range files {
		if f.Err != nil {
			text += "\nA file could not be read: " + cli.ShortPath(f.Err.Error(), g.home)
		}
	}
	return exit.UsageErrorf("%s", text)
}

// choose returns the places that are meant. Of several, flags or the user choose.
func (g *grantCmd) choose(c terminal.Console, places []place) ([]place, error) {
	if len(places) == 1 || g.namesEach(places) {
		return places, nil
	}
	var lines []string
	for i, p := range places {
		lines = append(lines, fmt.Sprintf("  %d  %s", i+1, p.title()))
	}
	if g.yes || !c.Asks() {
		text := fmt.Sprintf("%s is in %d places; choose one:", g.server, len(places))
		for i, p := range places {
			text += "\n" + lines[i] + "\n     " + g.command(g.selectors(p, places)...)
		}
		return nil, exit.UsageErrorf("%s", text)
	}
	c.PrintText(fmt.Sprintf("%s is in %d places:\n%s\n", show.Name(g.server), len(places), strings.Join(lines, "\n")))
	answer, asked := cli.AskLine(c, "which one? Its number, or all:")
	n, err := strconv.Atoi(answer)
	switch {
	case asked != nil:
		return nil, asked
	case answer == "all":
		return places, nil
	case err != nil || n < 1 || n > len(places):
		return nil, errors.New("nothing was changed: the answer is not a number of the list")
	}
	return places[n-1 : n], nil
}

// namesEach reports whether the flags name each of some places: a client or a file for every one.
func (g *grantCmd) namesEach(places []place) bool {
	by := map[string]int{}
	for _, p := range places {
		switch path, err := session.AbsolutePath(p.path()); {
		case err == nil && slices.ContainsFunc(g.Files, func(f string) bool { named, _ := session.AbsolutePath(f); return named == path }):
			by[path]++
		case p.table == nil && slices.Contains(g.Clients, p.File.Client.Name):
			by[p.File.Client.Name]++
		default:
			return false
		}
	}
	for _, n := range by {
		if n > 1 {
			return false
		}
	}
	return true
}

// selectors returns the flags that choose one of some places.
func (g *grantCmd) selectors(p place, all []place) (flags []string) {
	alone := func(has func(place) bool) bool {
		return !slices.ContainsFunc(all, func(o place) bool { return has(o) && !o.is(p) })
	}
	sameClient := func(o place) bool { return o.table == nil && o.File.Client.Name == p.File.Client.Name }
	sameFile := func(o place) bool { return o.path() == p.path() }
	switch {
	case p.table != nil:
		return []string{"--file", cli.ShortPath(p.path(), g.home)}
	case alone(sameClient):
		return []string{"--client", p.File.Client.Name}
	case alone(sameFile):
		return []string{"--file", cli.ShortPath(p.File.Path, g.home)}
	case p.Entry.For != "":
		return []string{"--file", cli.ShortPath(p.File.Path, g.home), "--project", cli.ShortPath(p.Entry.For, g.home)}
	}
	return []string{"--file", cli.ShortPath(p.File.Path, g.home), "--project", "none"}
}

func (p place) is(o place) bool {
	return p.path() == o.path() && (p.table != nil || p.Entry.Key() == o.Entry.Key())
}

// command returns this command with more flags, for a shell.
func (g *grantCmd) command(more ...string) string {
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
	return commandOf(g.server, append(words, more...))
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
