package resolve

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// warnSpecialHosts warns of rules that grant what only a machine inside of some network reaches.
// Of "*" and of wide wildcards nothing is said: they do not grant such an address.
func (b *resolver) warnSpecialHosts(rules []policy.NetRule) {
	for _, r := range rules {
		switch what := r.SpecialTarget(); {
		case !r.Allow || what == "":
		case what == policy.ReasonMetadata:
			b.warn("metadata-host", r.Where, "host = %s %s: the server can get them, and act as this machine", policy.QuoteTOML(r.Host), what)
		default:
			b.warn("private-host", r.Where, "host = %s %s: what answers there may trust whatever comes from this machine", policy.QuoteTOML(r.Host), what)
		}
	}
}
