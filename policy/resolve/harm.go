package resolve

import (
	"net/url"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// HarmOf judges a grant of rights at a path, which the user did not type.
func HarmOf(h *hostfs.Host, p *policy.Policy, path string, rights policy.Rights) policy.Harm {
	return places.HarmOf(h, p, path, rights)
}

// HasKeyName reports whether a path has the name of a file with keys or passwords.
func HasKeyName(path string) bool { return places.HasKeyName(path) }

// HarmOfHost judges a grant of a host, which the user did not type.
func HarmOfHost(h *hostfs.Host, r policy.NetRule) policy.Harm {
	switch what := r.SpecialTarget(); {
	case what == policy.ReasonMetadata:
		return policy.Harm{Ask: show.Name(r.Host) + " " + what + ": the server could act as this machine"}
	case what != "":
		return policy.Harm{Ask: show.Name(r.Host) + " " + what + ": services there may trust all connections from this machine"}
	case r.Host == "*":
		return policy.Harm{Ask: "it is every host: the server can send what it reads anywhere"}
	}
	for _, name := range [...]string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"} {
		value, _ := h.UserEnv(name)
		if u, err := url.Parse(value); err == nil && u.Hostname() == r.Host {
			return policy.Harm{Ask: show.Name(r.Host) + " is your proxy: through it the server reaches every host"}
		}
	}
	return policy.Harm{}
}
