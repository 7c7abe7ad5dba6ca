package resolve

import (
	"fmt"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ReachOf returns the Reach of a policy and its Others before the policy is resolved, for
// [WhyChangeable].
func ReachOf(p *policy.Policy, host hostfs.Host) *policy.Reach {
	b := &resolver{p: p, h: &host, paths: hostfs.NewLinkResolver(&host)}
	b.collectGuarded()
	b.collectDeciding()
	b.collectWriters(&policy.Profile{})
	b.collectProtected()
	return b.reach
}

// WhyChangeable returns which server may put another file at an absolute path, and by which rule:
// it may write the file, replace a link on the way, or move a directory above. It returns "" if no
// server may. Nothing is moved from above a protected path.
func WhyChangeable(reach *policy.Reach, paths *hostfs.LinkResolver, file string) string {
	at, err := paths.Resolve(file)
	if err != nil {
		return "its path cannot be followed: " + err.Error()
	}
	b := &resolver{paths: paths, reach: reach}
	if l, w, ok := b.writableLink(at.Links); ok {
		return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Name, l.Path, w.Rule)
	}
	for p := at.Path; ; p = path.Dir(p) {
		if w, ok := reach.Writer(p, policy.Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Name, p, w.Rule)
		}
		if p == "/" || slices.Contains(reach.Protected, p) {
			return ""
		}
	}
}
