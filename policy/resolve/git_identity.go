package resolve

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// gitConfig returns the configuration with the identity of the user: "" where HOME leads to the user's
// own, and unless the server can write a repository, whose log has such names already.
func (b *resolver) gitConfig(out *policy.Profile) string {
	if !out.HomePrivate || !slices.ContainsFunc(b.masks.Git.Repositories(), func(dir string) bool {
		return out.RightsAt(dir).Has(policy.Create | policy.Update)
	}) {
		return ""
	}
	return b.masks.Git.Identity().Config()
}
