package diagnostics

import "github.com/mcp-jail/mcp-jail/policy"

// Digest names a profile by its content, so that two sessions can be told to
// have run under the same one; "" for no profile. The values of secret variables
// do not enter it.
func Digest(p *policy.Profile) string {
	if p == nil {
		return ""
	}
	return p.Key()
}
