package grantcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// lacked is a flag that a failure lacked.
type lacked struct {
	flag
	by      diagnostics.Attribution // Certain: the jail recorded it
	cause   string
	warning string
}

// lastOf returns the flags that the last failure of the server lacked, without those that the user
// does not want or must name.
func (g *grantCmd) lastOf(c terminal.Console, host hostfs.Host, p *plan) (flags []flag, err error) {
	kept := p.now.target.Policy.KeptName()
	r, err := lastFailure(host, kept, p.name)
	if err != nil {
		return nil, err
	}
	if r, err = g.ofTool(p, r); err != nil {
		return nil, err
	}
	items, none := lackedIn(r)
	if len(items) == 0 && len(none) == 0 {
		return nil, fmt.Errorf("no flag grants what the last failure of %s lacked: %s", g.server, show.Typed("mcp-jail why", p.name))
	}
	for _, what := range none {
		p.left = append(p.left, what+": no flag grants it, "+show.Typed("mcp-jail why", p.name)+" says what does")
	}
	for _, l := range items {
		wanted, err := g.wants(c, p, l)
		if err != nil {
			return nil, err
		}
		if wanted {
			flags = append(flags, l.flag)
			if why := p.why[l.flag.String()]; why != "" {
				p.say("lacked", "%s%s", l.flag, why)
			}
		}
	}
	return flags, nil
}

// lastFailure returns the record of the last session of the server that has a failure.
func lastFailure(host hostfs.Host, kept, name string) (r diagnostics.Record, err error) {
	if r, err = records.Load(host, kept); err != nil {
		return r, fmt.Errorf("%s: %w", show.Name(name), err)
	}
	if r.Failed != nil {
		r = *r.Failed
	}
	if len(r.Diagnoses) == 0 {
		return r, fmt.Errorf("there is no failure of %s on record", show.Name(name))
	}
	return r, nil
}

// ofTool returns a record with the failures of one process alone: each tool of a per-call server has
// its own.
func (g *grantCmd) ofTool(p *plan, r diagnostics.Record) (diagnostics.Record, error) {
	if p.now.target.Policy.Stateful {
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
		text := "several tools of " + g.server + " failed, and each has its own rules: choose one"
		for _, tool := range tools {
			text += "\n  " + g.commandFor(g.server, "--tool", tool)
		}
		return r, exit.UsageErrorf("%s", text)
	case g.tool == "":
		g.tool = tools[0]
		if err := g.of(p); err != nil {
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
		for _, f := range split(d.Words) {
			l := hintOf(d, f)
			if at := slices.IndexFunc(items, func(o lacked) bool { return o.name == f.name && o.value == f.value }); at < 0 {
				items = append(items, l)
			} else if l.by == diagnostics.Certain && l.warning == "" {
				items[at] = l
			}
		}
		for _, h := range d.Hints {
			if len(h.Words) == 0 && h.Axis == policy.AxisProcess && !slices.Contains(none, show.Quote(h.Target)) {
				none = append(none, show.Quote(h.Target))
			}
		}
	}
	return items, none
}

// hintOf returns what a failure says about a flag. A flag that no hint has alone is not certain.
func hintOf(d diagnostics.Diagnosis, f flag) lacked {
	for _, h := range d.Hints {
		if slices.ContainsFunc(split(h.Words), func(o flag) bool { return o.name == f.name && o.value == f.value }) {
			return lacked{flag: f, by: h.Attribution, cause: h.Cause, warning: h.Warning}
		}
	}
	if strings.HasPrefix(f.value, "startup_timeout_secs=") { // it grants the server nothing
		return lacked{flag: f, by: diagnostics.Certain, cause: d.What}
	}
	return lacked{flag: f, by: diagnostics.Possible, cause: d.Cause}
}

// wants reports whether a flag of a record is to be granted: what the jail recorded, and what the
// user agrees to by name.
func (g *grantCmd) wants(c terminal.Console, p *plan, l lacked) (bool, error) {
	if by, err := g.granted(p, l.flag); by != "" || err != nil {
		return err == nil, err // it is there: nothing is written
	}
	p.why[l.flag.String()] = fmt.Sprintf("  (%s: %s)", l.by, show.Line(l.cause))
	harm := p.judge(l.flag)
	if harm.Never != "" {
		p.left = append(p.left, l.flag.String()+": "+harm.Never)
		return false, nil
	}
	var doubts []string
	if l.by != diagnostics.Certain {
		doubts = append(doubts, "only the server's own words name it, and the jail did not record it")
	}
	if why := cmp.Or(harm.Ask, l.warning); why != "" {
		doubts = append(doubts, why)
	}
	switch doubt := strings.Join(doubts, "; "); {
	case doubts == nil:
		return true, nil
	case g.dryRun:
		p.say("asks", "%s: %s", l.flag, doubt)
		return true, nil
	case g.yes || !c.Asks():
		p.left = append(p.left, fmt.Sprintf("%s%s: %s. To grant it:  %s", l.flag, p.why[l.flag.String()], doubt, g.command(l.flag.words()...)))
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

// judge judges a flag that no person typed, also by what it is to other servers.
func (p *plan) judge(f flag) policy.Harm {
	harm := p.harm(f)
	if f.name == "--write" && harm.Never == "" && p.others != nil {
		if of := harmToOthers(p.others, p.id, real(p.grants.At(f.value))); of != (policy.Harm{}) {
			return of
		}
	}
	return harm
}

// harm judges a flag by itself.
func (p *plan) harm(f flag) (h policy.Harm) {
	host, policyNow := p.now.target.Host, p.now.target.Policy
	t, err := table([]flag{f})
	if err != nil {
		return h
	}
	for _, v := range t.Variables {
		return policy.HarmOfVariable(v.Name)
	}
	if t.Access == nil {
		return h
	}
	for _, r := range t.Access.Fs {
		return resolve.HarmOf(&host, policyNow, real(p.grants.At(r.Path)), r.Rights())
	}
	for _, r := range t.Access.Net {
		return resolve.HarmOfHost(&host, r)
	}
	return h
}

// command returns a command line that grants something else to the server, for a shell.
func (g *grantCmd) command(words ...string) string {
	if g.tool != "" {
		words = append(words, "--tool", g.tool)
	}
	return commandOf(g.server, words)
}
