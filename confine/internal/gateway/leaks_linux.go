package gateway

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// maxLeaks bounds the names and values that mcp-jail-tls looks for, in bytes: they must fit
// into one message with the secrets. A value that no longer fits is not looked for in requests.
const maxLeaks = 32 << 10

// leaksOf returns the secrets to find in the requests of a profile: those that the jail was given. If
// the profile grants exactly one host, they may go there, and none is looked for.
func leaksOf(p *policy.Profile) (l egress.Leaks) {
	if p.Leaks != policy.LeaksWarn && p.Leaks != policy.LeaksBlock {
		return l
	}
	l.Tokens, l.Block = p.LeakPatterns, p.Leaks == policy.LeaksBlock
	if hasOneHost(p.Net) {
		return l
	}
	all, _ := leak.Sought(p.Env)
	size := 0
	for _, s := range all {
		if size+len(s.Name)+len(s.Value) <= maxLeaks {
			size += len(s.Name) + len(s.Value)
			l.Secrets = append(l.Secrets, s)
		}
	}
	return l
}

func hasOneHost(rules []policy.NetRule) bool {
	host := ""
	for _, r := range rules {
		if !r.Allow {
			continue
		}
		if strings.Contains(r.Host, "*") || host != "" && r.Host != host {
			return false
		}
		host = r.Host
	}
	return host != ""
}
