package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// BaselineRule is the Rule of the entries that every program gets.
const BaselineRule = "the runtime baseline"

// systemFiles returns the files of /etc that the C library, TLS and the common runtimes
// read. hosts and resolv.conf are not among them: names are the task of the network axis,
// so confinement writes its own. machine-id and shadow are not needed. Each existing file
// costs one mount in every start, so files for login shells and administrators' tools are
// left out.
func systemFiles(os string) []string {
	if os == "darwin" {
		return []string{"/etc/ssl", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/protocols", "/etc/services", "/etc/nsswitch.conf"}
	}
	return []string{
		"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
		"/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/passwd", "/etc/group",
		"/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/os-release",
		"/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies",
		"/etc/alternatives", "/etc/mime.types", "/etc/fonts", "/etc/locale.alias",
		"/etc/java", "/etc/perl", "/etc/python3", "/etc/python", "/etc/php", "/etc/R", "/etc/chromium", "/etc/chromium.d",
	}
}

func isVersionedSystemDir(name string) bool {
	for _, prefix := range [...]string{"java-", "python3.", "jvm-", "ruby", "lua"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (b *resolver) programParts(c *command.Resolver) []policy.Part {
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

func (b *resolver) dependencies(extra []command.Dependency) []command.Dependency {
	needs := make([]command.Dependency, 0, 48)
	for _, p := range places.SystemDirs(b.h.OS) {
		needs = append(needs, command.Dependency{Path: p, Rule: BaselineRule})
	}
	for _, p := range systemFiles(b.h.OS) {
		needs = append(needs, command.Dependency{Path: p, Rule: BaselineRule})
	}
	if at, err := b.paths.Resolve("/run/current-system"); err == nil && at.Exists() && policy.Within(at.Path, "/nix/store") {
		needs = append(needs, command.Dependency{Path: "/nix/store", Rule: BaselineRule}) // NixOS has its system there
		b.links = append(b.links, at.Links...)
	}
	fixed := len(needs)
	for _, e := range b.paths.Listings["/etc"] {
		if isVersionedSystemDir(e.Name) {
			needs = append(needs, command.Dependency{Path: "/etc/" + e.Name, Rule: BaselineRule})
		}
	}
	slices.SortFunc(needs[fixed:], func(a, b command.Dependency) int { return strings.Compare(a.Path, b.Path) })
	return append(needs, extra...)
}

func (b *resolver) addBaseline(c *command.Resolver) {
	defer b.warnModuleLinks(c.Modules) // once the entries are there
	needs := b.dependencies(c.Dependencies)
	type resolved struct {
		path string
		info hostfs.FileInfo
		need *command.Dependency
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
	// A rule for a directory above does not change the rights of the installed package.
	tree := ""
	if b.p.Packages.Tree != "" {
		tree = b.paths.Canonical(b.p.Packages.Tree)
	}
	// Wider ones come first, so that paths inside them are not repeated.
	slices.SortStableFunc(all, func(a, b resolved) int { return len(a.path) - len(b.path) })
	for _, r := range all {
		p := r.path
		near, ok := b.entries.find(p)
		rights := policy.Read | policy.Execute
		switch {
		case !ok:
		case p == tree: // a rule around the installed package does not change its rights
		case near.Origin == policy.OriginBaseline:
			b.searched[near.Path] = b.searched[near.Path] || r.need.Search && near.Path == p
			continue // covered already, with at least these rights
		case near.Rights.Has(rights):
			continue
		default:
			// The baseline takes no rights from a rule. A rule at p or above takes none
			// from the baseline. So the entry has the rights of both.
			rights |= near.Rights
		}
		if ok && near.Path == p {
			near.Rights, near.Added = rights, rights&^near.Rights
			b.entries[p] = near
			continue
		}
		b.entries[p] = policy.Entry{Path: p, Kind: hostfs.KindOf(r.info.Mode), Rights: rights, Origin: policy.OriginBaseline, Named: r.need.Path, Rule: r.need.Rule, ID: r.info.ID}
		b.searched[p] = r.need.Search
	}
}
