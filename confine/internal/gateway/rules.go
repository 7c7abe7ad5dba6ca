package gateway

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// gateRules are the rules for a gate that cannot look into connections, when that gap
// was waived: what would allow a part of a host allows all of it, and what would
// refuse a part refuses nothing.
func Rules(rules []policy.NetRule) []policy.NetRule {
	var out []policy.NetRule
	for _, r := range rules {
		if r.NeedsInterception() {
			if !r.Allow {
				continue
			}
			r.PathPrefix, r.Methods, r.Secrets = "", nil, nil
		}
		out = append(out, r)
	}
	return out
}
