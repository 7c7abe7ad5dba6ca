package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// BaselineRule is the Rule of the entries that every program gets.
const BaselineRule = "the runtime baseline"

// systemDirs returns the directories of every program's baseline (docs/policy.md "Runtime
// baseline").
func systemDirs(os string) []string {
	if os == "darwin" {
		return []string{"/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Frameworks", "/Library/Java", "/opt/homebrew/lib", "/private/var/db/dyld", "/private/var/db/timezone", "/var/db/timezone"}
	}
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
}

// isSystemPath reports whether a canonical path is in one of the system directories of Linux, on
// every operating system.
func isSystemPath(p string) bool {
	for _, d := range systemDirs("linux") {
		if policy.Within(p, d) {
			return true
		}
	}
	return false
}

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

// isVersionedSystemDir reports whether a name in /etc is a runtime's directory with a
// version.
func isVersionedSystemDir(name string) bool {
	for _, prefix := range [...]string{"java-", "python3.", "jvm-", "ruby", "lua"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// programParts returns the paths that a command needs, whether or not they become entries.
func (b *resolver) programParts(c *commandResolver) []policy.Part {
	work := map[string]bool{}
	for _, file := range c.files {
		work[file] = false
	}
	for _, n := range c.dependencies {
		if at, err := b.paths.Resolve(n.path); err == nil && at.Exists() {
			work[at.Path] = work[at.Path] || n.search && at.Info.Mode.IsDir()
		}
	}
	var out []policy.Part
	for _, p := range slices.Sorted(maps.Keys(work)) {
		out = append(out, policy.Part{Path: p, Work: work[p]})
	}
	return out
}

// dependencies returns the dependencies of every program, and then extra.
func (b *resolver) dependencies(extra []dependency) []dependency {
	needs := make([]dependency, 0, 48)
	for _, p := range systemDirs(b.h.OS) {
		needs = append(needs, dependency{path: p, rule: BaselineRule})
	}
	for _, p := range systemFiles(b.h.OS) {
		needs = append(needs, dependency{path: p, rule: BaselineRule})
	}
	fixed := len(needs)
	for _, e := range b.paths.Listings["/etc"] {
		if isVersionedSystemDir(e.Name) {
			needs = append(needs, dependency{path: "/etc/" + e.Name, rule: BaselineRule})
		}
	}
	slices.SortFunc(needs[fixed:], func(a, b dependency) int { return strings.Compare(a.path, b.path) })
	return append(needs, extra...)
}

// addBaseline resolves the dependencies of every program and of this command, and adds them
// to the entries.
func (b *resolver) addBaseline(extra []dependency) {
	needs := b.dependencies(extra)
	type resolved struct {
		path string
		info hostfs.FileInfo
		need *dependency
	}
	all := make([]resolved, 0, len(needs))
	for i := range needs {
		at, err := b.paths.Resolve(needs[i].path)
		if err != nil || !at.Exists() {
			continue // the host does not have it
		}
		b.links = append(b.links, at.Links...)
		all = append(all, resolved{at.Path, at.Info, &needs[i]})
	}
	tree := ""
	if b.p.Packages.Tree != "" {
		tree = b.canonical(b.p.Packages.Tree)
	}
	// Wider ones come first, so that paths inside them are not repeated.
	slices.SortStableFunc(all, func(a, b resolved) int { return len(a.path) - len(b.path) })
	for _, r := range all {
		p := r.path
		near, ok := b.entryFor(p)
		rights := policy.Read | policy.Execute
		switch {
		case !ok:
		case p == tree: // a rule around the installed package does not change its rights
		case near.Origin == policy.OriginBaseline:
			b.searched[near.Path] = b.searched[near.Path] || r.need.search && near.Path == p
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
			b.byPath[p] = near
			continue
		}
		b.byPath[p] = policy.Entry{Path: p, Kind: hostfs.KindOf(r.info.Mode), Rights: rights, Origin: policy.OriginBaseline, Named: r.need.path, Rule: r.need.rule, ID: r.info.ID}
		b.searched[p] = r.need.search
	}
}
