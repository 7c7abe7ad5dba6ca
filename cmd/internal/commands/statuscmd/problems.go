package statuscmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A problem is a short paragraph, with the commands that mend what it says.
type problem struct {
	What     string   `json:"what"`
	Commands []string `json:"commands,omitempty"`
}

// A group is a problem that several servers may share.
type group struct {
	one, many string // with NAMES first
	names     []string
	commands  []string
	together  string // the command for more than one of them
}

// groups are the problems of servers, in the order in which they were found.
type groups []*group

// add adds a server to a group. Without many, each server is a group of its own.
func (g *groups) add(name, one, many, together string, commands ...string) {
	at := slices.IndexFunc(*g, func(o *group) bool { return many != "" && o.one == one && o.many == many })
	if at < 0 {
		at = len(*g)
		*g = append(*g, &group{one: one, many: many, together: together})
	}
	to := (*g)[at]
	if !slices.Contains(to.names, name) {
		to.names = append(to.names, name)
	}
	for _, command := range commands {
		if !slices.Contains(to.commands, command) {
			to.commands = append(to.commands, command)
		}
	}
}

// maxNamed is how many servers a sentence names.
const maxNamed = 10

func (g *group) problem() *problem {
	if len(g.names) == 1 {
		return &problem{strings.Replace(g.one, "NAMES", g.names[0], 1), g.commands}
	}
	names, last := g.names[:len(g.names)-1], g.names[len(g.names)-1]
	if more := len(g.names) - maxNamed; more > 0 {
		names, last = g.names[:maxNamed], fmt.Sprintf("%d more", more)
	}
	p := &problem{What: strings.Replace(g.many, "NAMES", strings.Join(names, ", ")+" and "+last, 1), Commands: g.commands}
	if g.together != "" {
		p.Commands = []string{g.together}
	}
	return p
}

// problemsOf returns what there is to say about rows, about the files of clients, and about the configuration.
func problemsOf(x *index.Index, sel wrapping.Selection, rows []*row) []*problem {
	all := []*problem{}
	for _, f := range x.Files {
		if f.Err != nil {
			all = append(all, &problem{What: show.Line(cli.ShortPath(f.Path, x.Host.Home)) + " was skipped: " + strings.TrimPrefix(f.Err.Error(), f.Path+": ") + "."})
		}
	}
	faults := x.ConfigurationProblems()
	for _, say := range []func(*groups, *row){sayOpen, sayUnclear, sayStart, sayMore, sayFailure} {
		var of groups
		for _, r := range rows {
			say(&of, r)
		}
		for _, g := range of {
			all = append(all, g.problem())
		}
	}
	for _, p := range faults {
		if p.Fix != "" {
			all = append(all, &problem{p.What + ", so " + p.Effect + ". To read it and decide:", []string{p.Command}})
		}
	}
	return append(all, unreadProblems(x, sel)...)
}

// sayOpen says of a server that it runs without a jail.
func sayOpen(g *groups, r *row) {
	switch name := r.shown(); {
	case r.Jail != noJail:
	case r.Windows:
		g.add(name, "NAMES runs on Windows without a jail, with all of your rights. To start it in this Linux, in a jail:", "NAMES run on Windows without a jail, with all of your rights. To start them in this Linux, in a jail:", "mcp-jail wrap --windows", "mcp-jail wrap --windows")
	case r.Wrap:
		g.add(name, "NAMES runs without a jail, with all of your rights. To change that:", "NAMES run without a jail, with all of your rights. To change that:", "mcp-jail wrap", show.Typed("mcp-jail wrap --server", r.Called))
	default:
		g.add(name, "NAMES runs without a jail, and wrap skips it: it "+sentence(r.Why), "NAMES run without a jail, and wrap skips each: it "+sentence(r.Why), "")
	}
}

// sayUnclear says why a server may start without the jail, or cannot start in it.
func sayUnclear(g *groups, r *row) {
	switch {
	case r.Jail != unclear:
	case r.Wrap:
		g.add(r.shown(), "NAMES"+sentence(r.Why)+" To mend that:", "NAMES:"+sentence(r.Why)+" To mend that:", "mcp-jail wrap", show.Typed("mcp-jail wrap --server", r.Called))
	default:
		g.add(r.shown(), "NAMES"+sentence(r.Why), "NAMES:"+sentence(r.Why), "")
	}
}

// sayStart says why a server cannot start, or fails when it does.
func sayStart(g *groups, r *row) {
	switch {
	case r.copied:
		g.add(show.Name(r.Called), "NAMES has the id of "+r.shown()+", and another command. To give it a policy of its own:", "", "", show.Typed("mcp-jail wrap --server", r.Called))
	case r.changed:
		g.add(r.shown(), "NAMES has another command than you wrapped. To keep its policy:", "", "", show.Typed("mcp-jail wrap --server", r.Called))
	case r.Fault != "":
		g.add(r.shown(), "NAMES cannot start: "+sentence(r.Fault), "", "")
	}
	if len(r.Lacks) > 0 {
		const ask = " cannot start: this machine cannot enforce all of the policy. To use a weaker jail (wrap says what you lose, and asks):"
		g.add(r.shown(), "NAMES"+ask, "NAMES"+ask, "", "mcp-jail wrap")
	}
	if r.Jail == inJail || r.Jail == weaker {
		for _, note := range meaning.Fetched(r.Command) {
			g.add(r.shown(), "NAMES probably fails: "+sentence(note), "", "")
		}
	}
}

// sayMore says what a server gets that the user may not know of.
func sayMore(g *groups, r *row) {
	if len(r.Allowed) > 0 {
		g.add(r.shown(), "NAMES has more until its session ends, allowed in the client: "+show.Line(strings.Join(r.Allowed, ", "))+".", "", "")
	}
	if off := r.Switches.Texts(); off != nil {
		g.add(r.shown(), "Of the tools of NAMES, "+show.Line(strings.Join(off, ", "))+".", "", "")
	}
	if r.Earlier != nil {
		g.add(r.shown(), show.Line(r.Earlier.Text("NAMES")), "", "")
	}
	plan := show.Typed("mcp-jail plan", r.Name)
	if r.Jail != inJail && r.Jail != weaker {
		return
	}
	if len(r.Granted) > 0 {
		g.add(r.shown(), "NAMES gets more from a file of the project, which others may have written: "+sentence(strings.Join(r.Granted, " "))+" To see all that it gets:", "", "", plan)
	}
	if len(r.MayChange) > 0 {
		var all []string
		for _, o := range r.MayChange {
			all = append(all, show.Name(o.Server)+" ("+show.Line(o.Path)+")")
		}
		g.add(r.shown(), "NAMES may change what is started as "+strings.Join(all, ", ")+", and so use what that may use. To see all that it gets:", "", "", plan)
	}
	axes, _ := index.OfSystems(r.Waived)
	if names := index.AxisNames(axes, ", "); r.Jail == weaker && len(axes) > 0 {
		g.add(r.shown(), "NAMES starts in a weaker jail, as you have accepted ("+names+"). To see what that means:", "NAMES start in a weaker jail, as you have accepted ("+names+"). To see what that means:", "", plan)
	}
}

// sayFailure says how to learn more about the last failure of a server.
func sayFailure(g *groups, r *row) {
	if failed := r.failed(); failed != nil {
		one, many := "To see why NAMES failed:", "To see why NAMES failed:"
		if failed.Blocked {
			one, many = "To see why NAMES was blocked:", "To see why NAMES were blocked:"
		}
		step := failedStep(failed.Tool, failed.Stage)
		if failed.Tool == "" {
			step = "the " + step + " of " + r.shown()
		}
		g.add(step, one, many, "", show.Typed("mcp-jail why", r.Name))
	}
}

func (r *row) shown() string {
	if r.Name == "" {
		return "(no name)"
	}
	return show.Name(r.Name)
}

// sentence returns a text of others as the end of a sentence.
func sentence(text string) string {
	if text = show.Line(text); !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}

// unreadProblems names the files from which clients take servers, and which mcp-jail does not read.
func unreadProblems(x *index.Index, sel wrapping.Selection) (all []*problem) {
	for _, b := range wrapping.Unread(index.ClientsHost(x.Host), sel) {
		all = append(all, &problem{What: fmt.Sprintf("%s also takes servers from %s, which mcp-jail does not read: %s", b.Client.Title, show.Name(cli.ShortPath(b.Path, x.Host.Home)), sentence(b.Why))})
	}
	return all
}

func (p *problem) text(c terminal.Console, x *index.Index) string {
	text := terminal.Hang("", "", terminal.ShortHome(show.Line(p.What), x.Host.Home), c.TextColumns()) + "\n"
	for _, command := range p.Commands {
		text += "  " + command + "\n"
	}
	return text
}

// print prints the problems, what is stored, and where the policies are.
func (s *statusReport) print(c terminal.Console, x *index.Index) {
	text := ""
	for _, p := range s.Problems {
		text += p.text(c, x)
	}
	if s.Stored != nil && s.Stored.Bytes > 0 {
		stored := &problem{cli.SizeText(s.Stored.Bytes) + " are stored. To remove what a server has, and what nothing uses:", []string{"mcp-jail status --remove NAME"}}
		text += stored.text(c, x)
	}
	if slices.ContainsFunc(s.Servers, func(r *row) bool { return r.Policy != "" }) {
		where := &problem{What: "Their policies are in " + filepath.Join(x.Host.ConfigDir, config.ServersDir) + "."}
		text += where.text(c, x)
	}
	if text != "" {
		c.Printf("\n%s", text)
	}
}

// firstProblem returns the first of the mistakes in the configuration, and says how many there are.
func firstProblem(err error) error {
	var all policy.Problems
	if !errors.As(err, &all) || len(all) < 2 {
		return err
	}
	first := all[0]
	first.Message += fmt.Sprintf(" (and %d more: `mcp-jail check`)", len(all)-1)
	return policy.Problems{first}
}
