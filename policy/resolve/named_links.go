package resolve

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// namedLinks returns the symbolic links that the names of the client cross on the way to what a rule
// grants: $PWD, if the server starts there, and the paths in arguments and granted variables. A user
// who keeps ~/code on another disk names the workspace by that link. What is granted stays the place
// that the rules lead to.
func (b *resolver) namedLinks(out *policy.Profile) (links []policy.Link) {
	names := append([]string{}, b.p.Arguments...)
	if dir, _ := b.h.Getenv("PWD"); strings.HasPrefix(dir, "/") && dir != b.h.Dir && b.paths.Canonical(dir) == b.paths.Canonical(b.h.Dir) {
		names = append(names, dir)
	}
	for _, v := range out.Env {
		if v.Rule != minimalEnvironment {
			names = append(names, v.Value)
		}
	}
	for _, name := range names {
		if _, value, ok := strings.Cut(name, "="); ok && !strings.HasPrefix(name, "/") {
			name = value // --root=/path
		}
		if !strings.HasPrefix(name, "/") || len(name) >= 4096 || strings.ContainsAny(name, "\x00\n") {
			continue
		}
		at, err := b.paths.Resolve(name)
		if err != nil || len(at.Links) == 0 {
			continue
		}
		if e, ok := b.entries.Find(at.Path); ok && e.Origin == policy.OriginRule && e.Rights != 0 {
			links = append(links, at.Links...)
		}
	}
	return links
}
