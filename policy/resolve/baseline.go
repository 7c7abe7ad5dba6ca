package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// BaselineRule is the Rule of the entries that every program gets.
const BaselineRule = "the runtime baseline"

func isVersionedSystemDir(name string) bool {
	for _, prefix := range [...]string{"java-", "python3.", "jvm-", "ruby", "lua"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (b *resolver) programParts(c *Resolver) []policy.Part {
	work := map[string]bool{}
	for _, file := range c.Files {
		work[file] = false
	}
	for _, n := range c.Dependencies {
		if at, err := b.paths.Resolve(n.Path); err == nil && at.Exists() {
			work[at.Path] = work[at.Path] || n.Search && at.Info.Mode.IsDir()
		}
	}
	var out []policy.Part
	for _, p := range slices.Sorted(maps.Keys(work)) {
		out = append(out, policy.Part{Path: p, Work: work[p]})
	}
	return out
}

func (b *resolver) dependencies(extra []dependency) []dependency {
	needs := make([]dependency, 0, 48)
	for _, p := range places.SystemDirs(b.h.OS) {
		needs = append(needs, dependency{Path: p, Rule: BaselineRule})
	}
	files, data := places.SystemFiles(b.h.OS)
	for _, p := range files {
		needs = append(needs, dependency{Path: p, Rule: BaselineRule, Data: data})
	}
	if b.h.OS == "darwin" {
		tools, links := b.developerTools()
		needs, b.links = append(needs, tools...), append(b.links, links...)
	}
	if at, err := b.paths.Resolve("/run/current-system"); err == nil && at.Exists() && policy.Within(at.Path, "/nix/store") {
		needs = append(needs, dependency{Path: "/nix/store", Rule: BaselineRule}) // NixOS has its system there
		b.links = append(b.links, at.Links...)
	}
	fixed := len(needs)
	for _, e := range b.paths.Listings["/etc"] {
		if isVersionedSystemDir(e.Name) {
			needs = append(needs, dependency{Path: "/etc/" + e.Name, Rule: BaselineRule})
		}
	}
	slices.SortFunc(needs[fixed:], func(a, b dependency) int { return strings.Compare(a.Path, b.Path) })
	return append(needs, extra...)
}

// developerTools returns the bundle of Xcode, if the programs of macOS in /usr/bin start the developer
// tools in one: only root chooses it. Apple's tools without Xcode are in the baseline as they are.
func (b *facts) developerTools() (tools []dependency, links []policy.Link) {
	at, err := b.paths.Resolve(hostfs.SelectedTools)
	if err != nil || !at.Exists() {
		return nil, nil
	}
	bundle, _, inside := strings.Cut(at.Path+"/", ".app/")
	if !inside {
		return nil, at.Links
	}
	return []dependency{{Path: bundle + ".app", Rule: "the developer tools"}}, at.Links
}

func (b *resolver) addBaseline(c *Resolver) {
	needs := b.dependencies(c.Dependencies)
	type resolved struct {
		path string
		info hostfs.FileInfo
		need *dependency
	}
	all := make([]resolved, 0, len(needs))
	for i := range needs {
		at, err := b.paths.Resolve(needs[i].Path)
		if err != nil || !at.Exists() {
			continue // the host does not have it
		}
		b.links = append(b.links, at.Links...)
		all = append(all, resolved{at.Path, at.Info, &needs[i]})
	}
	if b.p.Packages.Tree != "" {
		b.sums.tree = b.paths.Canonical(b.p.Packages.Tree)
	}
	// Wider ones come first, so that paths inside them are not repeated.
	slices.SortStableFunc(all, func(a, b resolved) int { return len(a.path) - len(b.path) })
	for _, r := range all {
		p := r.path
		near, ok := b.entries.Find(p)
		rights := policy.Read | policy.Execute
		if r.need.Data {
			rights = policy.Read
		}
		if ok && near.Origin == policy.OriginBaseline && near.Rights.Has(rights) && p != b.sums.tree {
			b.searched[near.Path] = b.searched[near.Path] || r.need.Search && near.Path == p
			continue // covered already, with at least these rights
		}
		b.sums.base[p] |= rights
		if ok && near.Path == p {
			continue
		}
		b.entries[p] = policy.Entry{Path: p, Kind: hostfs.KindOf(r.info.Mode), Rights: rights, Origin: policy.OriginBaseline, Named: r.need.Path, Rule: r.need.Rule, ID: r.info.ID}
		b.searched[p] = r.need.Search
	}
}
