package resolve

import (
	"net/url"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// Reasons returns what speaks against rights at a path, what weighs most first.
func Reasons(h *hostfs.Host, p *policy.Policy, path string, rights policy.Rights) []policy.Reason {
	return places.Reasons(h, p, path, rights)
}

// HasKeyName reports whether a path has the name of a file with keys or passwords.
func HasKeyName(path string) bool { return places.HasKeyName(path) }

// ReasonsOfHost returns what speaks against a host.
func ReasonsOfHost(h *hostfs.Host, r policy.NetRule) []policy.Reason {
	if what := r.SpecialTarget(); what != "" {
		return []policy.Reason{{Kind: policy.WhyThisMachine, Names: []string{what}}}
	}
	if r.Host == "*" {
		return []policy.Reason{{Kind: policy.WhyAnyHost}}
	}
	for _, name := range [...]string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"} {
		value, _ := h.UserEnv(name)
		if u, err := url.Parse(value); err == nil && u.Hostname() == r.Host {
			return []policy.Reason{{Kind: policy.WhyProxy}}
		}
	}
	return nil
}
