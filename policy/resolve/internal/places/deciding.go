package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// DecidingPath is a path on this host whose content decides what runs outside of the jail.
type DecidingPath struct {
	Kind             string
	Abs, Named, Risk string
	// OfEnvironment reports that a variable names the path. A process with other variables does
	// not protect it.
	OfEnvironment bool
}

// A move is a variable that is set, and the part of the home directory that it moves to a directory.
type move struct{ variable, below, prefix, to string }

// allMoves returns the moves of builtin.txt. The variable names the directory, or one around it.
func allMoves() (all []move) {
	for _, row := range rows("moved", "") {
		to, prefix, _ := strings.Cut(row, " ")
		variable, below, _ := strings.Cut(to, "/")
		all = append(all, move{variable, below, prefix, ""})
	}
	return all
}

// PlaceVariables returns the names of the variables that decide which files are the user's, on a system as
// in runtime.GOOS. See hostfs.Host.Places.
func PlaceVariables(os string) []string {
	names := []string{"PATH", "FPATH"}
	for _, m := range allMoves() {
		names = append(names, m.variable)
	}
	for _, m := range (&hostfs.Host{OS: os}).VersionManagers() {
		names = append(names, m.Variable)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// moves returns the moves whose variables are set.
func (b *Places) moves() (set []move) {
	for _, m := range allMoves() {
		if dir, _ := b.h.UserEnv(m.variable); strings.HasPrefix(dir, "/") {
			m.to = path.Join(dir, m.below)
			set = append(set, m)
		}
	}
	return set
}

// movedTo returns where else a path lies.
func movedTo(written string, moves []move) (all []string) {
	for _, m := range moves {
		rest, ok := strings.CutPrefix(written, m.prefix)
		if ok && (m.prefix != "~/" || strings.HasPrefix(rest, ".z")) {
			all = append(all, path.Join(m.to, rest))
		}
	}
	return all
}

func (b *Places) collectDeciding() {
	b.Deciding = make([]DecidingPath, 0, 768) // more than a host usually has
	moves := b.moves()
	for _, g := range groupsOf(b.h.OS, deciding, Programs, Packages, clients) {
		for _, s := range g.rows {
			abs, _ := b.Expand(s, "/")
			b.Deciding = append(b.Deciding, DecidingPath{g.kind, abs, s, g.why, false})
			for _, at := range movedTo(s, moves) { // protected in both places
				b.addDeciding(at, g.kind, g.why)
			}
		}
	}
	const managers = "version managers, and mcp-jail, take interpreters from there"
	bare := hostfs.Host{Home: b.h.Home, OS: b.h.OS}
	for _, dir := range bare.ManagerRoots() {
		b.Deciding = append(b.Deciding, DecidingPath{Managers, dir, b.Abbreviate(dir), managers, false})
	}
	for _, dir := range b.h.ManagerRoots() {
		b.addDeciding(dir, Managers, managers)
	}
	for _, dir := range b.userPath() {
		b.addDeciding(dir, InPath, "it is in PATH: shells, MCP clients and mcp-jail start programs from there")
	}
}

// addDeciding adds a path that a variable names. One around the workspace is not protected inside
// grants, and see whyUnsafe.
func (b *Places) addDeciding(abs, kind, risk string) {
	d := DecidingPath{kind, abs, b.Abbreviate(abs), risk, true}
	if b.IsAroundWork(abs) {
		b.decidingWork = append(b.decidingWork, d)
	} else {
		b.Deciding = append(b.Deciding, d)
	}
}

// userPath returns the directories of PATH, and of zsh's FPATH, that do not belong to the system. It
// leaves out those of a node_modules, which `npm run` adds for a project: a server that works there
// installs packages. Nothing is chosen from them: see Guard.
func (b *Places) userPath() (dirs []string) {
	for _, name := range [...]string{"PATH", "FPATH"} {
		value, _ := b.h.UserEnv(name)
		for _, dir := range hostfs.SplitList(b.h.OS, value) {
			if _, slashed := winpath.FromSlashed(dir); b.h.OS == "windows" && !slashed { // as a list of one has it
				dir = winpath.Slashed(dir)
			}
			dir = path.Clean(dir)
			if strings.HasPrefix(dir, "/") && dir != "/" && !b.isSystemPath(dir) && !slices.Contains(strings.Split(dir, "/"), "node_modules") {
				dirs = append(dirs, dir)
			}
		}
	}
	if b.h.OS == "windows" {
		return dirs
	}
	return append(dirs, "/usr/local/bin")
}

// isSystemPath is IsSystemPath without what users and Homebrew install on macOS.
func (b *Places) isSystemPath(dir string) bool {
	if b.h.OS == "windows" {
		return isPlaceOfWindows(dir)
	}
	return IsSystemPath(dir) && (b.h.OS != "darwin" || !policy.Within(dir, "/usr/local"))
}

// DecidingAround returns the path that decides which a canonical path is, or lies in.
func (b *Places) DecidingAround(p string) (DecidingPath, bool) {
	for _, d := range b.Deciding {
		if at := b.paths.Canonical(d.Abs); b.liesIn(p, at) && !policy.IsClientsCopy(strings.TrimPrefix(p, at)) {
			return d, true
		}
	}
	return DecidingPath{}, false
}

// ProtectedAround returns the protected name that a canonical path is, or lies in, or "".
func (b *Places) ProtectedAround(p string) string {
	// A repository may have the name .github. What is in one counts in the root of another.
	if dir := path.Dir(p); strings.EqualFold(path.Base(p), ".github") && b.paths.Exists(path.Join(dir, ".git")) {
		return p
	}
	return policy.ProtectedAround(p)
}
