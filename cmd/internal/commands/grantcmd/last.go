package grantcmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// lacked is a flag that a failure lacked.
type lacked struct {
	flag    granting.Flag
	by      diagnostics.Attribution // Certain: the jail recorded it
	cause   string
	warning string

	otherLine bool // the session had another command line than the entry
}

// lastOf returns the flags that the last failure of the server lacked, without those that the user
// does not want or must name.
func (g *grantCmd) lastOf(c terminal.Console, host hostfs.Host, p *plan) (flags []granting.Flag, err error) {
	r, err := lastFailure(host, p)
	if err != nil {
		return nil, err
	}
	if r, err = g.ofTool(host, p, r); err != nil {
		return nil, err
	}
	items, none := lackedIn(r)
	if len(items) == 0 && len(none) == 0 && !r.LacksHost() {
		return nil, fmt.Errorf("no flag grants what the last failure of %s lacked: %s", g.server, show.Typed("mcp-jail why", p.kept))
	}
	if r.LacksHost() {
		p.left = append(p.left, "a host: the jail did not learn its name, since the server has no network. If you know it:  "+commandOf(g.server, append([]string{"--net", "HOST"}, g.files()...)))
	}
	for _, what := range none {
		p.left = append(p.left, what+": no flag grants it, "+show.Typed("mcp-jail why", p.kept)+" says what does")
	}
	for _, l := range items {
		l.flag, l.otherLine = g.wholePath(host, p, l.flag), p.hadOtherLine(host)
		wanted, err := g.wants(c, p, l)
		if err != nil {
			return nil, err
		}
		if wanted {
			flags = append(flags, l.flag)
		}
	}
	return flags, nil
}

// lastFailure returns the record of the last session of the server that has a failure.
func lastFailure(host hostfs.Host, p *plan) (r diagnostics.Record, err error) {
	if r, err = records.Load(host, p.kept); err != nil {
		return r, err
	}
	if r.Failed != nil {
		r = *r.Failed
	}
	about := records.ReadAbout(host, p.kept)
	switch {
	case len(r.Diagnoses) == 0:
		return r, fmt.Errorf("there is no failure of server %q on record", p.kept)
	case p.isProject() && !slices.Equal(about.Command, p.Line().Argv):
		return r, errors.New("the last session under the name " + show.Quote(p.kept) + " had another command line than the entry in " + p.Place() + ", which others may have written: name the grants yourself")
	}
	return r, nil
}

// hadOtherLine reports whether the last session under the name of an entry had another command line: an
// entry of a project may have the name, too, and its arguments can choose what fails.
func (p *plan) hadOtherLine(host hostfs.Host) bool {
	if p.table != nil {
		return false
	}
	had, has := records.ReadAbout(host, p.kept).Command, p.Line().Argv
	return !slices.EqualFunc(had, has, func(had, has string) bool { return had == has || p.File.References(has) })
}

// ofTool returns a record with the failures of one process alone: each tool of a per-call server has
// its own.
func (g *grantCmd) ofTool(host hostfs.Host, p *plan, r diagnostics.Record) (diagnostics.Record, error) {
	if p.table == nil || p.scope.IsStateful() {
		return r, nil
	}
	var tools []string
	for _, d := range r.Diagnoses {
		if !slices.Contains(tools, d.Tool) {
			tools = append(tools, d.Tool)
		}
	}
	switch {
	case g.tool == "" && len(tools) > 1:
		text := "several tools of " + g.server + " failed, and each has a table: choose one"
		for _, tool := range tools {
			text += "\n  " + g.command("--tool", tool)
		}
		return r, exit.UsageErrorf("%s", text)
	case g.tool == "":
		g.tool = tools[0]
		if err := g.scopeOf(host, p); err != nil {
			return r, err
		}
	}
	r.Diagnoses = slices.DeleteFunc(slices.Clone(r.Diagnoses), func(d diagnostics.Diagnosis) bool { return d.Tool != g.tool })
	return r, nil
}

// lackedIn returns what the failures of a record lacked, each once, and the names of what no flag
// grants.
func lackedIn(r diagnostics.Record) (items []lacked, none []string) {
	for _, d := range r.Diagnoses {
		words := d.Words
		if words == nil { // of an older mcp-jail
			words = show.Unquoted(d.Flags)
		}
		all := granting.Split(words)
		for _, f := range all {
			if len(d.Words) == 0 && len(all) > 1 && f.Name == "--write" && f.Value == "." {
				continue // it keeps the workspace, and grant does that itself
			}
			l := hintOf(d, f)
			if at := slices.IndexFunc(items, func(o lacked) bool { return o.flag.Name == f.Name && o.flag.Value == f.Value }); at < 0 {
				items = append(items, l)
			} else if l.by == diagnostics.Certain && l.warning == "" {
				items[at] = l
			}
		}
		for _, h := range d.Hints {
			if len(h.Words)+len(h.Flags) == 0 && len(h.Grant) > 0 && !slices.Contains(none, show.Quote(h.Target)) {
				none = append(none, show.Quote(h.Target))
			}
		}
	}
	return items, none
}

// hintOf returns what a failure says about a flag. A flag that no hint has alone is not certain.
func hintOf(d diagnostics.Diagnosis, f granting.Flag) lacked {
	for _, h := range d.Hints {
		words := h.Words
		if words == nil {
			words = show.Unquoted(h.Flags)
		}
		if slices.ContainsFunc(granting.Split(words), func(o granting.Flag) bool { return o.Name == f.Name && o.Value == f.Value }) {
			return lacked{flag: f, by: h.Attribution, cause: h.Cause, warning: h.Warning}
		}
	}
	if f.IsTime() {
		return lacked{flag: f, by: diagnostics.Certain, cause: d.What}
	}
	return lacked{flag: f, by: diagnostics.Possible, cause: d.Cause}
}

// wholePath returns a flag of a record as the place has it. Its relative path starts in the workspace
// of the session, and an entry for all projects would have it in each of them.
func (g *grantCmd) wholePath(host hostfs.Host, p *plan, f granting.Flag) granting.Flag {
	of := records.ReadAbout(host, p.kept).Configuration
	relative := f.IsPath() && f.Value != "." && !filepath.IsAbs(f.Value) && !strings.HasPrefix(f.Value, "~")
	if !relative || of == nil || p.isProject() {
		return f
	}
	if path, err := (granting.Person{System: host.OS, Home: g.home, Dir: of.Workspace}).Path(f.Value); err == nil {
		return granting.NewFlag(f.Name, path)
	}
	return f
}

// wants reports whether a flag of a record is to be granted: what the jail recorded, and what the
// user agrees to by name.
func (g *grantCmd) wants(c terminal.Console, p *plan, l lacked) (bool, error) {
	if p.scope.Grants(l.flag) != "" {
		return true, nil // it is there: nothing is written
	}
	if err := p.stays(l.flag); err != nil {
		p.left = append(p.left, err.Error())
		return false, nil
	}
	p.why[l.flag.String()] = fmt.Sprintf("  (%s: %s)", l.by, show.Line(l.cause))
	why, never := p.scope.Guards(l.flag)
	if never {
		p.left = append(p.left, l.flag.String()+": "+why)
		return false, nil
	}
	var doubts []string
	if l.by != diagnostics.Certain {
		doubts = append(doubts, "only the server's own words name it, and the jail did not record it")
	}
	if l.otherLine {
		doubts = append(doubts, "the session under the name "+show.Quote(p.kept)+" had another command line than this entry, and a project may have chosen it")
	}
	if why == "" {
		why = l.warning
	}
	if why != "" {
		doubts = append(doubts, why)
	}
	switch doubt := strings.Join(doubts, "; "); {
	case doubts == nil:
		return true, nil
	case g.dryRun:
		p.say("asks", "%s: %s", l.flag, doubt)
		return true, nil
	case g.yes || !c.Asks():
		p.left = append(p.left, fmt.Sprintf("%s%s: %s. To grant it:  %s", l.flag, p.why[l.flag.String()], doubt, commandOf(g.server, append(granting.Words([]granting.Flag{l.flag}), g.files()...))))
	default:
		question := fmt.Sprintf("%s lacked  %s%s: %s. Grant it?", show.Name(g.server), l.flag, p.why[l.flag.String()], doubt)
		yes, err := cli.AskYes(c, question, "nothing was changed")
		if err == nil && !yes {
			p.left = append(p.left, l.flag.String()+": the answer was not yes")
		}
		return yes, err
	}
	return false, nil
}

// files returns the flags that chose the file.
func (g *grantCmd) files() (words []string) {
	for _, name := range g.Clients {
		words = append(words, "--client", name)
	}
	for _, path := range g.Files {
		words = append(words, "--file", cli.ShortPath(path, g.home))
	}
	if g.project != "" {
		words = append(words, "--project", g.project)
	}
	if g.tool != "" {
		words = append(words, "--tool", g.tool)
	}
	return words
}
