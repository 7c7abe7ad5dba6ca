package grantcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// askApart asks about what the server gets beside what the flags say: what --remove gives back to it, and all of a host of which it has
// a part.
func (g *grantCmd) askApart(c terminal.Console, p *plan, after *checked) error {
	var more []string
	a := p.grants.Table.Access
	takesLess := p.grants.Table.Limits != (config.LimitsTable{}) || a != nil && slices.ContainsFunc(a.Fs, func(r policy.FsRule) bool { return r.Deny != 0 })
	for _, ch := range p.compare(after) {
		if g.remove && takesLess && ch.Loosens {
			more = append(more, "it gets back what a rule took away: "+ch.Text)
		}
	}
	if !g.remove && a != nil {
		if !g.yes && !g.last { // else it was named, or asked for
			more = append(more, p.builtinDenials(a.Fs)...)
		}
		for _, r := range a.Net {
			if part := p.partOf(r); part != "" {
				more = append(more, "it has a part of "+r.Host+" so far ("+part+"), and gets all of it")
			}
		}
	}
	for _, text := range more {
		text = show.Name(g.server) + ": " + show.Line(text)
		if g.yes || !c.Asks() {
			return fmt.Errorf("nothing was changed: %s. That is asked on a terminal, and not taken by --yes", text)
		}
		yes, err := cli.AskYes(c, text+". Is that meant?", "nothing was changed")
		if err != nil || !yes {
			return cmp.Or(err, errors.New("nothing was changed: the answer was not yes"))
		}
	}
	return nil
}

// builtinDenials says which of some rules are for a sensitive path or a protected name, and what lies there.
func (p *plan) builtinDenials(rules []policy.FsRule) (all []string) {
	host := p.now.target.Host
	for _, r := range rules {
		at := real(p.grants.At(r.Path))
		what := "a protected name: programs outside of the jail run or trust what is written there"
		switch place := resolve.Sensitive(&host, p.now.target.Policy, at); {
		case r.Rights() == 0:
			continue
		case place != "":
			what = "a sensitive path (" + place + ")"
		case r.Rights()&policy.Write == 0 || !hostfs.HasProtectedName(host.OS, at):
			continue
		}
		text := r.Path + " is " + what
		if names := namesIn(at); names != "" {
			text += ". There lie " + names
		}
		all = append(all, text)
	}
	return all
}

// namesIn returns the first names in a directory, in words.
func namesIn(dir string) string {
	const most = 5
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries[:min(most, len(entries))] {
		names = append(names, show.Name(e.Name()))
	}
	if more := len(entries) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// partOf says to which part of a host the server is held so far, or "".
func (p *plan) partOf(r policy.NetRule) string {
	for _, o := range p.now.target.Policy.Net {
		if o.Host != r.Host || !o.Allow || r.PathPrefix != "" || len(r.Methods) > 0 {
			continue
		}
		part := append([]string{}, o.Methods...)
		if o.PathPrefix != "" {
			part = append(part, o.PathPrefix)
		}
		for _, name := range o.SecretNames() {
			part = append(part, "with "+name)
		}
		if len(part) > 0 {
			return strings.Join(part, " ")
		}
	}
	return ""
}

func (g *grantCmd) confirm(c terminal.Console, p *plan) error {
	if g.yes {
		return nil
	}
	verb := "Grant this to "
	if g.remove {
		verb = "Take this away from "
	}
	return cli.Confirm(context.Background(), c, verb+show.Name(g.server)+" in "+cli.ShortPath(p.file.Path, g.home)+"?")
}
