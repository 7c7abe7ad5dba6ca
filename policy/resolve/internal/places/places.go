package places

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Places answers what paths mean on a host, before anything is granted: which are sensitive, which
// decide what runs outside of the jail, which belong to mcp-jail, and which are not for one server
// alone. Its answers come from the policy and the host, and it remembers them.
type Places struct {
	lookup

	Builtin       []Place // the built-in sensitive paths that have a fixed place
	SensitiveDirs []string
	Deciding      []Place // what decides outside of the jail
	decidingWork  []Place // those around the workspace: see add

	unsafe map[string]string // the answers of whyUnsafe
	named  *namedPlaces      // nil before SensitiveAround is asked
}

// A Place is a path on this host that is sensitive, or whose content decides what runs outside of the jail.
type Place struct {
	Kind         string // of builtin.txt, Managers or InPath
	Abs, Written string // the last component of a sensitive path may be a pattern, but not of a secret's file
	Why          string // what obeys or runs it: the end of a sentence that begins with the path
	// OfEnvironment reports that a variable names the path. A process with other variables does
	// not protect it.
	OfEnvironment bool
	Secret        bool
}

// Pattern returns the directory and the last component of a sensitive path whose last component is a
// pattern. ok is false for any other.
func (p Place) Pattern() (dir, base string, ok bool) {
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
	b.Deciding = make([]Place, 0, 768) // more than a host usually has
	moves := b.moves()
	for _, g := range groupsOf(b.h.OS, sensitive, deciding, Programs, Packages, clients) {
		for _, s := range g.rows {
			if strings.HasPrefix(s, "**/") {
				continue
			}
			abs, _ := b.Expand(s, "/")
			b.add(Place{Kind: g.kind, Abs: abs, Written: s, Why: g.why})
			for _, at := range movedTo(s, moves) { // in both places
				b.add(Place{Kind: g.kind, Abs: at, Why: g.why, OfEnvironment: true})
			}
		}
	}
	for _, home := range b.windowsHomes() {
		for _, s := range rows("home of windows", "") {
			b.add(Place{Kind: sensitive, Abs: path.Join(home, s)})
		}
	}
	const managers = "version managers, and mcp-jail, take interpreters from there"
	bare := hostfs.Host{Home: b.h.Home, OS: b.h.OS}
	for _, dir := range bare.ManagerRoots() {
		b.add(Place{Kind: Managers, Abs: dir, Why: managers})
	}
	for _, dir := range b.h.ManagerRoots() {
		b.add(Place{Kind: Managers, Abs: dir, Why: managers, OfEnvironment: true})
	}
	for _, dir := range b.userPath() {
		b.add(Place{Kind: InPath, Abs: dir, Why: "it is in PATH: shells, MCP clients and mcp-jail start programs from there", OfEnvironment: true})
	}
}

// add adds a place. What decides, is named by a variable and is around the workspace is not protected inside
// grants, and see whyUnsafe.
func (b *Places) add(p Place) {
	if p.Written == "" {
		p.Written = b.Abbreviate(p.Abs)
	}
	switch {
	case p.Kind == sensitive:
		b.Builtin, b.SensitiveDirs = append(b.Builtin, p), append(b.SensitiveDirs, strings.TrimSuffix(p.Abs, "*"))
	case p.OfEnvironment && b.IsAroundWork(p.Abs):
		b.decidingWork = append(b.decidingWork, p)
	default:
		b.Deciding = append(b.Deciding, p)
	}
}
