// Package policytest tells tests whether a profile allows a call with two names. mcp-jail
// decides such calls in package mediator and by Landlock; tests compare the result of a call with
// these functions.
package policytest

import (
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/policy"
)

// AllowsRename reports whether a profile allows a rename to a new name. The rename needs delete in
// the directory of the old name and create in the directory of the new one. A rename to a directory
// that has more rights is refused, as Landlock does. A rename between two entries may still fail
// with EXDEV, since entries can be mounts.
func AllowsRename(p *policy.Profile, src, dst string) bool {
	if !p.Allows(policy.OpRemove, src) || !p.Allows(policy.OpMkdir, dst) || policy.Within(dst, src) {
		return false
	}
	for _, u := range p.Unprotected {
		if policy.Within(u, dst) || policy.Within(u, src) {
			return false // would bring the name into being, or let another take its place
		}
	}
	from, to := p.RightsAt(filepath.Dir(src)), p.RightsAt(filepath.Dir(dst))
	return to&^from == 0
}

// AllowsReplace is AllowsRename to a name that exists: the old file is removed.
func AllowsReplace(p *policy.Profile, src, dst string) bool {
	return AllowsRename(p, src, dst) && p.Allows(policy.OpRemove, dst)
}
