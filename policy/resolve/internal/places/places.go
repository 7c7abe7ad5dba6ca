// Package places says what paths mean on a host, before anything is granted: which are sensitive,
// which decide what runs outside of the jail, which belong to mcp-jail, and which are not for one
// server alone.
//
// [Masks] take rights away inside grants: they hide what is sensitive, and keep what is protected from
// being written. builtin.txt has the places.
//
// It asks the [hostfs.Host] that it is given, and touches nothing itself. Begin at [New].
package places

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Places answers what paths mean on a host, before anything is granted: which are sensitive, which
// decide what runs outside of the jail, which belong to mcp-jail, and which are not for one server
// alone. Its answers come from the policy and the host, and it remembers them.
type Places struct {
	lookup

	Builtin       []place // the built-in sensitive paths that have a fixed place
	SensitiveDirs []string
	Deciding      []place // what decides outside of the jail
	decidingWork  []place // those around the workspace: see add

	unsafe map[string]string // the answers of whyUnsafe
	named  *namedPlaces      // nil before SensitiveAround is asked
}

// A Place is a path on this host that is sensitive, or whose content decides what runs outside of the jail.
type place struct {
	Kind         string // of builtin.txt, Managers or inPath
	Abs, Written string // the last component of a sensitive path may be a pattern, but not of a secret's file
	Why          string // what obeys or runs it: the end of a sentence that begins with the path
	// OfEnvironment reports that a variable names the path. A process with other variables does
	// not protect it.
	OfEnvironment bool
	Secret        bool
}

// pattern returns the directory and the last component of a sensitive path whose last component is a
// pattern. ok is false for any other.
func (p place) pattern() (dir, base string, ok bool) {
	dir, base = hostfs.Split(p.Abs)
	return dir, base, !p.Secret && strings.ContainsAny(base, "*?[")
}

// New returns the places of a host. It knows neither sensitive paths nor those that decide before
// Collect.
func New(p *policy.Policy, h *hostfs.Host, paths *hostfs.LinkResolver) *Places {
	return &Places{lookup: lookup{p, h, paths}}
}

// For returns the places for another policy on the same host.
func (b *Places) For(p *policy.Policy) *Places {
	if p == b.p {
		return b
	}
	other := New(p, b.h, b.paths)
	if p.Default {
		other.Collect()
	}
	return other
}

// Collect lists the sensitive paths and those that decide, once.
func (b *Places) Collect() {
	b.Deciding = make([]place, 0, 768) // more than a host usually has
	moves := b.moves()
	for _, g := range groupsOf(b.h.OS, sensitive, deciding, programs, packages, clients) {
		for _, s := range g.rows {
			if strings.HasPrefix(s, "**/") {
				continue
			}
			abs, _ := b.Expand(s, "/")
			b.add(place{Kind: g.kind, Abs: abs, Written: s, Why: g.why})
			for _, at := range movedTo(s, moves) { // in both places
				b.add(place{Kind: g.kind, Abs: at, Why: g.why, OfEnvironment: true})
			}
		}
	}
	for _, home := range b.windowsHomes() {
		for _, s := range rows("home of windows", "") {
			b.add(place{Kind: sensitive, Abs: path.Join(home, s)})
		}
	}
	const managers = "version managers, and mcp-jail, take interpreters from there"
	bare := hostfs.Host{Home: b.h.Home, OS: b.h.OS}
	for _, dir := range bare.ManagerRoots() {
		b.add(place{Kind: Managers, Abs: dir, Why: managers})
	}
	for _, dir := range b.h.ManagerRoots() {
		b.add(place{Kind: Managers, Abs: dir, Why: managers, OfEnvironment: true})
	}
	for _, dir := range b.userPath() {
		b.add(place{Kind: inPath, Abs: dir, Why: "it is in PATH: shells, MCP clients and mcp-jail start programs from there", OfEnvironment: true})
	}
}

// add adds a place. What decides, is named by a variable and is around the workspace is not protected inside
// grants, and see whyUnsafe.
func (b *Places) add(p place) {
	if p.Written == "" {
		p.Written = b.Abbreviate(p.Abs)
	}
	switch {
	case p.Kind == sensitive:
		b.Builtin, b.SensitiveDirs = append(b.Builtin, p), append(b.SensitiveDirs, strings.TrimSuffix(p.Abs, "*"))
	case p.OfEnvironment && b.isAroundWork(p.Abs):
		b.decidingWork = append(b.decidingWork, p)
	default:
		b.Deciding = append(b.Deciding, p)
	}
}

//go:embed builtin.txt
var builtin string

// The kinds of places. All but the first decide what runs outside of the jail.
const (
	sensitive = "sensitive"
	deciding  = "deciding"
	clients   = "clients"
	programs  = "programs" // started by name
	packages  = "packages" // stores and caches
	Managers  = "managers" // directories of version managers
	inPath    = "path"     // directories of PATH
)

// A group has the rows below one heading of builtin.txt.
type group struct {
	kind, why string
	systems   []string // none: all
	rows      []string
}

// groups are those of builtin.txt. A start waits for it, so their rows stay in the one list of its lines.
var groups = sync.OnceValue(func() []group {
	lines := strings.Split(builtin, "\n")
	all, kept := make([]group, 0, 48), lines[:0]
	from := 0
	for _, line := range lines {
		if head, ok := strings.CutPrefix(line, "== "); ok {
			head, why, _ := strings.Cut(head, ": ")
			kind, systems, _ := strings.Cut(head, " on ")
			all, from = append(all, group{kind: kind, why: why, systems: strings.Fields(systems)}), len(kept)
		} else if line != "" && line[0] != '#' {
			kept = append(kept, line)
			all[len(all)-1].rows = kept[from:len(kept):len(kept)]
		}
	}
	return all
})

// groupsOf returns the groups of some kinds on a system, as in runtime.GOOS.
func groupsOf(os string, kinds ...string) (of []group) {
	for _, g := range groups() {
		if slices.Contains(kinds, g.kind) && (len(g.systems) == 0 || slices.Contains(g.systems, os)) {
			of = append(of, g)
		}
	}
	return of
}

// Rows returns the rows of a kind that is not of one system.
func Rows(kind string) []string { return rows(kind, "") }

// rows returns the rows of a kind on a system.
func rows(kind, os string) (all []string) {
	for _, g := range groupsOf(os, kind) {
		if all == nil {
			all = g.rows
		} else {
			all = append(all, g.rows...)
		}
	}
	return all
}

// isIn reports whether a path is one of the rows of a kind, or lies in one.
func isIn(kind, os, p string) bool {
	return slices.ContainsFunc(rows(kind, os), func(row string) bool { return policy.Within(p, row) })
}

// isSystemPlace reports whether a directory of a system, as in runtime.GOOS, belongs to it and not to a
// user's work. Some trees belong to the system as a whole, others contain both.
func isSystemPlace(os, dir string) bool {
	sources := func(at string) bool { return policy.Within(dir, at) && dir != at }
	return isIn("system", os, dir) || slices.Contains(rows("system itself", os), dir) ||
		policy.Within(dir, "/usr") && !sources("/usr/src") && !sources("/usr/local/src")
}

// SystemDirs returns the directories of every program's baseline (docs/policy.md "Runtime
// baseline"): those that hold programs.
func SystemDirs(os string) []string { return baseline("baseline", os) }

// SystemFiles returns the other paths of the baseline: the files that the C library, TLS and the common runtimes
// read. data reports that nothing in them is started.
func SystemFiles(os string) (paths []string, data bool) {
	return baseline("baseline file", os), os == "darwin"
}

func baseline(kind, os string) []string {
	all := slices.Clone(rows(kind, os))
	for _, dir := range rows("prefix", os) {
		programs, data := Prefix(dir)
		if kind == "baseline" {
			all = append(all, programs...)
		} else {
			all = append(all, data...)
		}
	}
	return all
}

// Prefix returns what programs need of a directory in which Homebrew or MacPorts installs.
func Prefix(dir string) (programs, data []string) {
	for _, name := range rows("prefix programs", "") {
		programs = append(programs, path.Join(dir, name))
	}
	for _, name := range rows("prefix data", "") {
		data = append(data, path.Join(dir, name))
	}
	return programs, data
}

// IsSystemPath reports whether a canonical path is in one of the system directories of Linux, also on
// macOS.
func IsSystemPath(p string) bool { return isIn("baseline", "linux", p) }

// InBaseline reports whether a canonical path is in a directory of programs that every server gets.
func InBaseline(os, p string) bool {
	return slices.ContainsFunc(SystemDirs(os), func(dir string) bool { return policy.Within(p, dir) })
}

// WhyNoRule returns why a rule for a canonical path is refused on macOS, or "". rights reports that the
// rule grants something.
func (b *Places) WhyNoRule(p string, rights bool) string {
	if b.h.OS != "darwin" {
		return ""
	}
	if rights && policy.Within("/System/Volumes/Data", p) {
		return "would grant every file of every user: macOS has all of them below /System/Volumes/Data a second time. Name the directories that are meant, such as ~/src or /Volumes/NAME"
	}
	for _, alias := range [...]string{"/.vol", "/.nofollow", "/.resolve"} {
		if policy.Within(p, alias) {
			return "is another name that macOS has for a file, and the kernel does not compare it with rules: write the usual path"
		}
	}
	return ""
}
