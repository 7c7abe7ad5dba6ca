package resolve

import (
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/coarse"
)

// resolveCoarse makes a profile for Windows, where nothing restricts files. It has a program and an
// environment, and no entries.
func resolveCoarse(p *policy.Policy, h *hostfs.Host) (*policy.Profile, []policy.Warning, error) {
	net, err := p.Normalize()
	if err != nil {
		return nil, nil, err
	}
	warnings := &warningList{}
	for _, r := range coarse.Written(p) {
		if err := coarse.CheckRule(r); err != nil {
			return nil, warnings.list, &RuleError{Rule: r.Label(), Reason: err.Error()}
		}
		warnings.warn("not-enforced", r.Where, "the rule path = %q holds nothing: on Windows the server reads all that you may, and writes in its own HOME and TEMP alone", r.Path)
	}
	b := &resolver{facts: &facts{p: p, h: h, warnings: warnings}}
	out := b.newProfile(net)
	if err := coarse.Fill(p, h, out); err != nil {
		return nil, warnings.list, err
	}
	out.Reach = coarse.Reach(p)
	return out, warnings.list, nil
}
