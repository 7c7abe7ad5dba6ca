package diagnostics

import "github.com/mcp-jail/mcp-jail/policy"

// Digest returns an identifier of a profile's content, so that two sessions under the same
// profile can be recognised, or "" for nil. Values of secret variables do not enter it.
func Digest(p *policy.Profile) string {
	if p == nil {
		return ""
	}
	return p.Key()
}
