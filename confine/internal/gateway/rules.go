package gateway

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// Rules returns the rules for a gateway that cannot inspect requests. If a rule needs that, the
// plan has a gap, which was waived. A rule that allows a part of a host then allows all of it. A
// rule that refuses a part is left out.
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
