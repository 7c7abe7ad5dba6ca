package learncmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/adopt"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// An application is what becomes of the files that have the policy of a server. A learned policy says which
// programs the server may start, which no flags can say: so it is always a table of the configuration, and an
// entry that has flags becomes one that starts that server.
type application struct {
	adopt.Change
	name  string // of the table
	isNew bool   // the configuration has no such server
}

func (l *lesson) changeOf() (*application, error) {
	args, server := cmdline.Split(programs.Main, l.t.Argv)
	run, err := cmdline.ParseRun(args)
	if err != nil {
		return nil, err
	}
	a := &application{name: l.t.Stored, Change: adopt.Change{Title: l.name(), Command: session.Given(l.server)}}
	if !server.Given {
		a.name = run.Server
		return a, errors.Join(l.replace(a, run), l.finish(a))
	}
	cfg, _, err := session.LoadTrusted(config.LoadOptions{}, l.host)
	if err != nil {
		return nil, err
	}
	if s := cfg.Servers[a.name]; s != nil {
		if !slices.Equal(append([]string{s.Command}, s.Arguments...), a.Command) {
			return nil, byHand("the configuration has another server %s (%s)", show.Name(a.name), show.Line(cli.ShortPath(s.Where, l.host.Home)))
		}
		return a, errors.Join(l.replace(a, &cmdline.RunFlags{}), l.finish(a))
	}
	return a, l.addServer(a, run)
}

// finish has entries start the table that have the server's own line still: what ended between the two writes of
// an earlier change has left them.
func (l *lesson) finish(a *application) error {
	servers, err := entries.WrappedServers()
	if err != nil {
		return err
	}
	for _, w := range servers {
		if !slices.Equal(w.Line().Argv, a.Command) || entries.KeptName(w.File, w.Entry, w.Line(), l.host) != a.name {
			continue
		}
		place := w.File.Client.Title + ", " + w.Place()
		if slices.ContainsFunc(a.Entries, func(e adopt.Entry) bool { return e.Change.File == w.File }) {
			a.Notes = append(a.Notes, "another entry of the same file has that line, too ("+place+"): the same command again changes it")
			continue
		}
		change, lost, err := adopt.StartsTable(w.Entry, w.File, w.Entry.Argv(), place, a.name)
		if err != nil {
			a.Notes = append(a.Notes, "an entry keeps its own line beside the table: "+err.Error())
			continue
		}
		note := "an entry has the line of the server still (" + place + ")"
		if len(lost) > 0 {
			note += ": the table takes the place of its flags " + strings.Join(lost, " ")
		}
		a.Notes = append(a.Notes, note)
		a.Entries = append(a.Entries, adopt.Entry{Place: place, Effect: "it starts the server of the configuration", Change: change})
	}
	return l.noteBare(a)
}

// noteBare notes entries that start the server of the table without a jail.
func (l *lesson) noteBare(a *application) error {
	_, files, err := (&entries.Choice{}).Find()
	program, err2 := entries.FindProgram(l.host)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for _, f := range files {
		for _, e := range f.Entries {
			if e.Server == a.name && slices.Equal(f.Started(e, e.Argv(), entries.ClientsHost(l.host)), a.Command) {
				place := fmt.Sprintf("%s, %s, line %d", f.Client.Title, cli.ShortPath(f.Path, l.host.Home), e.Line)
				a.Notes = append(a.Notes, "an entry starts the server without a jail still ("+place+"). Write there:  "+clientLine(program.Path, a.name))
			}
		}
	}
	return nil
}

// replace has the learned grants take the place of those of a server of the configuration.
func (l *lesson) replace(a *application, run *cmdline.RunFlags) error {
	host, o := l.host, config.LoadOptions{Files: run.Config, Workspace: run.Workspace}
	if host.Dir = l.t.Dir; o.Workspace == "" {
		o.Workspace = l.t.Dir
	}
	places, err := table.Find(o, host, a.name)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return byHand("no file of the configuration has the server %s", show.Name(a.name))
	}
	a.Place = places[len(places)-1]
	if a.Place.Closed != nil {
		return byHand("%s", a.Place.Closed)
	}
	before, err := config.DecodeLayer(a.Place.Text(), a.Place.Path)
	if err != nil {
		return err
	}
	had := before.Servers[a.name]
	if is := had.Stateful == nil || *had.Stateful; is != l.result.Stateful {
		return byHand("each tool of %s has a process and a table of its own, and the learned policy is for one process", show.Name(a.name))
	}
	if why := losesTable(had, l.result); why != "" {
		return byHand("%s", why)
	}
	if a.Place.Project {
		a.Notes = append(a.Notes, "this is a file of the project, which you trust as it is: yes means that you trust it with this change, too. Others who use it must trust it anew")
	}
	var denied []policy.FsRule
	if had.Access != nil {
		denied = deniesOf(had.Access.Fs)
	}
	lines := insert(l.headInside(), "\nfs = [", denied, nil)
	if a.Edit, err = a.Place.Replace(lines); err != nil {
		return byHand("%s", err)
	}
	return l.grants(a, lines)
}

// grants returns an error unless a start has what the learned table grants, and nothing besides.
func (l *lesson) grants(a *application, lines []byte) error {
	alone, err := config.Decode(lines, "the learned table")
	if err != nil {
		return err
	}
	for _, tool := range append(toolsOf(l.result), "") {
		if err := l.grantsTo(a, alone, tool); err != nil {
			return err
		}
	}
	return nil
}

// grantsTo returns an error unless a tool has what its learned table grants; "" is the whole of a stateful server, or
// the process that lists the tools.
func (l *lesson) grantsTo(a *application, alone *config.Config, tool string) error {
	want, err := alone.Policy(a.name, tool)
	if err != nil {
		return err
	}
	t, err := a.Place.Target(a.Edit.Text, tool)
	if err != nil {
		return byHand("the server would not start: %s", err)
	}
	got := t.Policy
	if !equal(got.Fs, want.Fs, policy.FsRule.TOMLFields) || !equal(got.Net, want.Net, policy.NetRule.TOMLFields) || (got.Commands == nil) != (want.Commands == nil) || !equal(got.Commands, want.Commands, func(r policy.CommandRule) []string { return append(r.TOMLFields(), r.Name) }) {
		return byHand("a preset or another file of the configuration would add to the learned policy of %s, which `mcp-jail plan %s` shows", show.Name(a.name), show.Name(a.name))
	}
	return nil
}

func equal[T any](a, b []T, fields func(T) []string) bool {
	texts := func(all []T) (texts []string) {
		for _, one := range all {
			texts = append(texts, strings.Join(fields(one), ", "))
		}
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	return slices.Equal(texts(a), texts(b))
}

// addServer adds a server to the user's configuration, and has the entry start it.
func (l *lesson) addServer(a *application, run *cmdline.RunFlags) (err error) {
	given, err := config.CommandLineOptions{Deny: run.Deny, Inbound: run.Inbound, Home: run.Home, GPU: run.GPU, Startup: run.Startup, Limit: run.Limit}.Table()
	if err != nil {
		return err
	}
	settings := table.Settings(given)
	var flags []string
	if l.t.Entry != nil {
		entry := adopt.Entry{Place: l.t.Place, Effect: "it starts the server of the configuration"}
		entry.Change, flags, err = adopt.StartsTable(*l.t.Entry, l.t.EntryOf, l.t.Line, l.t.Place, a.name)
		if errors.Is(err, adopt.ErrNotJailed) {
			return fmt.Errorf("nothing was changed: %w", err)
		} else if err != nil {
			return byHand("%s", err)
		}
		a.Entries = append(a.Entries, entry)
	} else if dir := l.fixedWorkspace(); dir != "" && l.result.Workspace == "" {
		settings = append([]string{"workspace = " + show.TOML(dir)}, settings...)
	}
	var denied []policy.FsRule
	var inbound []policy.InboundRule
	if given.Access != nil {
		denied, inbound = deniesOf(given.Access.Fs), given.Access.Inbound
	}
	lines := insert(l.result.TOML(), "\nfs = [", denied, inbound)
	header := []byte("[servers." + show.Key(a.name) + "]\n")
	if len(settings) > 0 {
		lines = bytes.Replace(lines, header, append(header, strings.Join(settings, "\n")+"\n"...), 1)
	}
	a.isNew = true
	if a.Place, err = table.New(l.host, a.name); err != nil {
		return err
	}
	if a.Edit, err = a.Place.Append(lines); err != nil {
		return byHand("%s", err)
	}
	if err := l.grants(a, lines); err != nil {
		return err
	}
	if len(flags) > 0 {
		a.Notes = append(a.Notes, "the table takes the place of the flags "+strings.Join(flags, " "))
	}
	return nil
}

// fixedWorkspace returns the directory that the table must name as its workspace, because a rule or an
// argument starts from it and it is not known where a client starts the server. It is "" if none does.
func (l *lesson) fixedWorkspace() string {
	dir := l.server.Host.Dir
	if l.flags.Workspace != "" {
		dir, _ = filepath.Abs(l.flags.Workspace)
	}
	needs := slices.ContainsFunc(l.result.Rules(), func(r learn.Rule) bool { return r.Fs != nil && isRelative(r.Fs.Path) }) ||
		slices.ContainsFunc(session.Given(l.server)[1:], func(word string) bool {
			_, err := os.Lstat(filepath.Join(dir, word))
			return err == nil && !filepath.IsAbs(word) && !strings.HasPrefix(word, "-")
		})
	if !needs && l.flags.Workspace == "" {
		return ""
	}
	return cli.ShortPath(dir, l.host.Home)
}

// headInside returns the learned table with its first comment below the header of the access table, where it is
// replaced with it.
func (l *lesson) headInside() []byte {
	text := string(l.result.TOML())
	head, _, _ := strings.Cut(text, "\n")
	header := "\n[servers." + show.Key(l.result.Name) + ".access]\n"
	return []byte(strings.Replace(text, header, header+head+"\n", 1))
}

// deniesOf returns the rules that take away. They are the user's, and no lesson shows that they are needed.
func deniesOf(rules []policy.FsRule) []policy.FsRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r policy.FsRule) bool { return r.Rights() != 0 })
}

// insert adds the user's own rules to a learned table.
func insert(text []byte, list string, denied []policy.FsRule, inbound []policy.InboundRule) []byte {
	if len(denied) > 0 {
		var items string
		for _, r := range denied {
			items += "\n  { " + strings.Join(r.TOMLFields(), ", ") + " }, # denied before"
		}
		if empty := []byte(list + "]"); bytes.Contains(text, empty) {
			text = bytes.Replace(text, empty, []byte(list+items+"\n]"), 1)
		} else {
			text = bytes.Replace(text, []byte(list), []byte(list+items), 1)
		}
	}
	if len(inbound) > 0 {
		var items []string
		for _, r := range inbound {
			items = append(items, "{ "+strings.Join(r.TOMLFields(), ", ")+" }")
		}
		text = bytes.Replace(text, []byte(list), []byte("\ninbound = ["+strings.Join(items, ", ")+"]"+list), 1)
	}
	return text
}
