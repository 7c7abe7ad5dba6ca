package grantcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/adopt"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/tried"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const tryFlag = "--try"

// triedOf returns the policy that an entry tries, as --try has it; "" for none.
func triedOf(w *entries.WrappedServer) string {
	for _, f := range granting.Split(w.Line().Flags) {
		if f.Name == tryFlag {
			return f.Value
		}
	}
	return ""
}

// withoutTry returns the flags of an entry but for --try.
func withoutTry(raw []string) []string {
	return granting.Words(slices.DeleteFunc(granting.Split(raw), func(f granting.Flag) bool { return f.Name == tryFlag }))
}

// trying returns those of some places whose entries try a policy. Of a server of the configuration it is the
// last file that has a table, which decides.
func (g *grantCmd) trying(places []place) (found []place, err error) {
	for _, p := range places {
		if p.table == nil {
			if triedOf(p.WrappedServer) != "" {
				found = append(found, p)
			}
			continue
		}
		p.by = slices.DeleteFunc(slices.Clone(p.by), func(w *entries.WrappedServer) bool { return triedOf(w) == "" })
		if len(p.by) == 0 {
			continue
		}
		for _, w := range p.by[1:] {
			if triedOf(w) != triedOf(p.by[0]) {
				return nil, exit.UsageErrorf("the entries of %s try different policies (%s; %s): choose one with --client or --file", show.Name(g.server), p.by[0].Place(), w.Place())
			}
		}
		found = slices.DeleteFunc(found, func(o place) bool { return o.table != nil && o.by[0].Place() == p.by[0].Place() })
		found = append(found, p)
	}
	if len(found) == 0 {
		where := ": no entry of a client has --try for it"
		for _, p := range places {
			if p.table == nil {
				where = ": its entry (" + p.Place() + ") has no --try"
			}
		}
		return nil, exit.UsageErrorf("%s tries no policy%s", show.Name(g.server), where)
	}
	return found, nil
}

// A trial is a policy that is tried, and what comes of it.
type trial struct {
	place
	policy  *tried.Policy
	inForce *session.Target // with the policy that is tried beside it
	name    string          // of the server in the configuration
	dir     string          // where the server starts, as far as it is known
	change  adopt.Change
	more    []string // what it grants beyond the policy in force
}

// giveTried makes the policy that a server tries its own.
func (g *grantCmd) giveTried(c terminal.Console, host hostfs.Host, at place) error {
	t := &trial{place: at, name: at.kept, dir: at.dir}
	if t.dir == "" {
		t.dir = host.Home // the default policy grants none of it
	}
	was, err := os.Getwd()
	if err == nil && os.Chdir(t.dir) == nil { // relative paths and the workspace start there
		defer func() { _ = os.Chdir(was) }()
	}
	if err := t.load(host); err != nil {
		return err
	}
	if at.table == nil && t.policy.File == "" {
		return g.giveFlags(c, host, t)
	}
	t.change.Title, t.change.Command = show.Name(g.server), session.Given(t.inForce)
	if at.table == nil {
		err = t.addTable(host)
	} else {
		err = t.replaceTable()
	}
	if err != nil {
		return byHand(t, err)
	}
	after, err := t.after()
	if err != nil {
		return byHand(t, err)
	}
	if t.more, err = compare(t.inForce, after, host.Home); err != nil {
		return byHand(t, err)
	}
	t.change.Show(c, host)
	if err := g.allow(c, host, t); err != nil || g.dryRun {
		return err
	}
	if err := t.change.Write(c, host); err != nil {
		return err
	}
	if t.table != nil && !t.inForce.Policy.Stateful {
		c.PrintText("\nThe next call of a tool has it\n")
	}
	return nil
}

func byHand(t *trial, err error) error {
	what := "the table of " + show.Line(t.policy.File)
	if t.policy.File == "" {
		what = "the flags of --try"
	}
	return exit.UsageErrorf("nothing was changed: %s. Put %s into your configuration by hand, and take --try out of the entry", err, what)
}

// load loads the policy in force, and the one that is tried beside it.
func (t *trial) load(host hostfs.Host) (err error) {
	w := t.WrappedServer
	if t.table != nil {
		w = t.by[0]
	}
	if t.policy, err = tried.Load(triedOf(w), host.Home); err != nil {
		return err
	}
	if t.inForce, err = w.Load(nil); err != nil {
		return err
	}
	if c := t.policy.Config; c != nil && c.Servers[t.policy.Server].IsStateful() != t.inForce.Policy.Stateful {
		return exit.UsageErrorf("nothing was changed: one of the two policies is for a server whose tools have a process each (stateful = false), and the other one is not: write the table that is tried anew")
	}
	if err = t.inForce.Resolve(); t.inForce.InstallsAfter(err) {
		return fmt.Errorf("%s. Then the two policies can be compared:  %s", t.inForce.Package.Text(), show.Typed("mcp-jail install", t.inForce.Asked()))
	}
	return err
}

// allow says what the policy that is tried grants beyond the policy in force, and asks.
func (g *grantCmd) allow(c terminal.Console, host hostfs.Host, t *trial) error {
	for i, text := range t.more {
		text = strings.Replace(text, " "+host.Home+"/", " ~/", 1)
		t.more[i] = text
		c.PrintText("  " + c.Paint(terminal.Yellow, "more:") + " " + text + ", which the policy in force does not grant\n")
	}
	switch {
	case g.dryRun:
		c.Printf("nothing was changed (--dry-run)\n")
		return nil
	case g.yes && len(t.more) > 0:
		return fmt.Errorf("nothing was changed, for the policy that is tried grants more than the one in force: %s. --yes alone does not grant that: without --yes, grant asks", strings.Join(t.more, ", "))
	case g.yes:
		return nil
	}
	var err error
	if len(t.more) > 0 {
		err = cli.Confirm(context.Background(), c, "Grant "+show.Name(g.server)+" this too, which it does not have now: "+strings.Join(t.more, ", ")+"?")
	}
	if err == nil {
		path := t.path()
		if t.change.Place != nil {
			path = t.change.Place.Path
		}
		err = cli.Confirm(context.Background(), c, "Give the policy that is tried to "+show.Name(g.server)+" in "+cli.ShortPath(path, host.Home)+"?")
	}
	return err
}

// giveFlags puts the flags that an entry only tries into the place of those that grant.
func (g *grantCmd) giveFlags(c terminal.Console, host hostfs.Host, t *trial) error {
	p, now, err := g.read(t.place)
	if err != nil {
		return err
	}
	p.after = nil
	for _, f := range p.before {
		switch {
		case f.Name == tryFlag:
		case tried.Grants(f.Name):
			p.say("remove", "%s", f)
		default:
			p.after = append(p.after, f)
		}
	}
	for _, f := range granting.Split(t.policy.Flags.Words()) {
		p.say("grant", "%s", f)
		p.after = append(p.after, f)
	}
	j, err := session.JudgeOf(t.inForce, t.inForce.Profile)
	if err != nil {
		return err
	}
	t.more = tried.Beyond(j.Side(), sideOf(t.inForce), host.Home)
	p.ask = func() error { return g.allow(c, host, t) }
	return g.write(c, host, p, now)
}

// addTable adds a table of the configuration, and has the entry start it.
func (t *trial) addTable(host hostfs.Host) error {
	run, err := cmdline.ParseRun(append([]string{"run"}, t.Line().Flags...))
	if err != nil {
		return err
	}
	entry := adopt.Entry{Place: t.Place(), Effect: "it starts the server of the configuration, and tries nothing"}
	var lost []string
	if entry.Change, lost, err = adopt.StartsTable(t.Entry, t.File, t.Entry.Argv(), t.Place(), t.name); err != nil {
		return err
	}
	host.Dir = t.place.dir
	if t.change.Place, err = table.New(host, t.name); err != nil {
		return err
	}
	if before, err := config.DecodeLayer(t.change.Place.Text(), t.change.Place.Path); err != nil {
		return err
	} else if before.Servers[t.name] != nil {
		return fmt.Errorf("your configuration has another server %s", show.Name(t.name))
	}
	given, err := config.CommandLineOptions{Home: run.Home, GPU: run.GPU, Startup: run.Startup, Limit: run.Limit}.Table()
	if err != nil {
		return err
	}
	command := session.Given(t.inForce)
	head := append([]string{"command = " + show.TOML(command[0]), "arguments = " + show.List(command[1:])}, table.Settings(given)...)
	lines, err := t.lines(head)
	if err != nil {
		return err
	}
	t.change.Entries = append(t.change.Entries, entry)
	if t.change.Edit, err = t.change.Place.Append(lines); err != nil {
		return err
	}
	lost = slices.DeleteFunc(lost, func(f string) bool { return strings.HasPrefix(f, tryFlag) })
	if len(lost) > 0 {
		t.change.Notes = append(t.change.Notes, "the table takes the place of the flags "+strings.Join(lost, " "))
	}
	return nil
}

// replaceTable has the grants of the policy that is tried take the place of those in the server's table.
func (t *trial) replaceTable() error {
	t.change.Place = t.table
	if t.table.Closed != nil {
		return t.table.Closed
	}
	if t.table.Project {
		t.change.Notes = append(t.change.Notes, "this is a file of the project, which you trust as it is: yes means that you trust it with this change, too. Others who use it must trust it anew")
	}
	lines, err := t.lines(nil)
	if err != nil {
		return err
	}
	if t.change.Edit, err = t.table.ReplaceAll(lines); err != nil {
		return err
	}
	for i, w := range t.by {
		if slices.ContainsFunc(t.by[:i], func(o *entries.WrappedServer) bool { return o.File == w.File }) {
			continue // it was among those of its file
		}
		flags, place := map[string][]string{}, ""
		for _, o := range t.by[i:] {
			if o.File == w.File {
				flags[o.Entry.Key()] = withoutTry(o.FlagsInFile())
				place += "; " + o.Place()
			}
		}
		place = strings.TrimPrefix(place, "; ")
		ch, err := adopt.WithFlags(w.File, flags, place)
		if err != nil {
			return err
		}
		t.change.Entries = append(t.change.Entries, adopt.Entry{Change: ch, Place: place, Effect: "it tries nothing any more"})
	}
	return nil
}

// lines returns the table of the server with the policy that is tried.
func (t *trial) lines(head []string) ([]byte, error) {
	layer, text, err := t.layer()
	if err != nil {
		return nil, err
	}
	server := layer.Servers[layer.ServerNames()[0]]
	access, err := table.Access(text, server.Name, t.name)
	if err != nil {
		return nil, err
	}
	if server.Preset != "" {
		head = append(head, "preset = "+show.TOML(server.Preset))
	}
	if len(server.Variables) > 0 {
		var names []string
		for _, v := range server.Variables {
			names = append(names, v.Name)
		}
		head = append(head, "variables = "+show.List(names))
	}
	return []byte("[servers." + show.Key(t.name) + "]\n" + strings.Join(append(head, ""), "\n") + access), nil
}

// layer returns the policy that is tried as a configuration, and its text.
func (t *trial) layer() (*config.Config, []byte, error) {
	if t.policy.File != "" {
		layer, err := config.DecodeLayer(t.policy.Text, t.policy.File)
		return layer, t.policy.Text, err
	}
	f := t.policy.Flags
	text := []byte(strings.Join(config.CommandLineOptions{Command: []string{"-"}, Name: t.name, Read: f.Read, Write: f.Write, Execute: f.Execute,
		Deny: f.Deny, Net: f.Net, Inbound: f.Inbound, Env: f.Env, Preset: f.Preset}.Declaration(), "\n") + "\n")
	layer, err := config.DecodeLayer(text, "the flags of --try")
	if err != nil || t.inForce.Policy.Stateful {
		return layer, text, err
	}
	if s := layer.Servers[t.name]; s.Access != nil { // each tool has the flags
		s.Tools = map[string]*config.Tool{config.AnyTool: {Name: config.AnyTool, Access: s.Access}}
	}
	return layer, layer.Encode(), nil
}

// after returns the server as it is when the change is written.
func (t *trial) after() (*session.Target, error) {
	after, err := t.change.Place.Target(t.change.Edit.Text, "")
	if err != nil {
		return nil, err
	}
	if t.table == nil {
		for _, f := range granting.Split(t.Line().Flags) {
			if f.Name == "--workspace" {
				after.Config.SetWorkspace(t.name, f.Value)
			}
		}
	}
	if after.Policy, err = after.PolicyOf(""); err != nil {
		return nil, err
	}
	after.Host.Dir = t.dir
	if abs, err := filepath.EvalSymlinks(t.dir); err == nil {
		after.Host.Dir = abs
	}
	return after, after.Resolve()
}
