package grantcmd

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/tried"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// takeTried puts the flags that an entry only tries (run --try) into the place of those that grant.
func (p *plan) takeTried() error {
	i := slices.IndexFunc(p.before, func(f granting.Flag) bool { return f.Name == "--try" })
	if i < 0 {
		return exit.UsageErrorf("%s tries no policy: its entry (%s) has no --try", show.Name(p.Entry.Server), p.Place())
	}
	policy, err := tried.Load(p.before[i].Value, "")
	if err != nil {
		return err
	}
	if policy.File != "" {
		return exit.UsageErrorf("the policy that is tried is the table [servers.%s] of %s: put it into your configuration by hand, and take --try out of %s", show.TOML(policy.Server), show.Line(policy.File), p.Place())
	}
	p.after = nil
	for _, f := range p.before {
		switch {
		case f.Name == "--try":
		case tried.Grants(f.Name):
			p.say("remove", "%s", f)
		default:
			p.after = append(p.after, f)
		}
	}
	for _, f := range granting.Split(policy.Flags.Words()) {
		p.say("grant", "%s", f)
		p.after = append(p.after, f)
	}
	return nil
}
