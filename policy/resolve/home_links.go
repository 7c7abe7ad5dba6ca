package resolve

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// HomeLinks returns the HomeLinks of a profile without the rest of it. A rule that cannot be resolved
// has none: the start of what it is for says why. No profile for Windows has any.
func HomeLinks(p *policy.Policy, host hostfs.Host) []policy.HomeLink {
	if p.HomeReal || len(p.Fs) == 0 || host.OS == "windows" {
		return nil
	}
	b := newResolver(p, &host)
	if b.placeFiles() != nil {
		return nil
	}
	return b.homeLinks()
}

// homeLinks returns the places in the private HOME of what rules grant below the user's home. The
// path of a rule decides as it is written, since programs look for it there: a link may lead it
// elsewhere.
func (b *resolver) homeLinks() (links []policy.HomeLink) {
	if b.p.HomeReal {
		return nil
	}
	homes, own := []string{path.Clean(b.h.Home), b.paths.Canonical(b.h.Home)}, b.places.OwnDirs()
	for _, dir := range own {
		own = append(own, b.paths.Canonical(dir))
	}
	isOwn := func(p string) bool {
		return slices.ContainsFunc(own, func(dir string) bool { return policy.Within(p, dir) })
	}
	for _, n := range b.targets {
		e, ok := b.entries[n.Canonical]
		i := slices.IndexFunc(homes, func(home string) bool { return n.Lexical != home && policy.Within(n.Lexical, home) })
		if !ok || e.Rights == 0 || i < 0 || n.Rule.Workspace || isOwn(n.Lexical) || isOwn(n.Canonical) {
			continue
		}
		at := strings.TrimPrefix(strings.TrimPrefix(n.Lexical, homes[i]), "/")
		links = append(links, policy.HomeLink{Path: at, Target: n.Canonical, Dir: e.Kind == policy.KindDir && e.Rights.Has(policy.Read), ID: e.ID})
	}
	slices.SortStableFunc(links, func(a, b policy.HomeLink) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(links, func(a, b policy.HomeLink) bool { return a.Path == b.Path })
}
