package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
func (b *Places) DecidingAround(p string) (Place, bool) {
	for _, d := range b.Deciding {
		if at := b.paths.Canonical(d.Abs); b.liesIn(p, at) && !policy.IsClientsCopy(strings.TrimPrefix(p, at)) {
			return d, true
		}
	}
	return Place{}, false
}

// ProtectedAround returns the protected name that a canonical path is, or lies in, or "".
func (b *Places) ProtectedAround(p string) string {
	// A repository may have the name .github. What is in one counts in the root of another.
	if dir := path.Dir(p); strings.EqualFold(path.Base(p), ".github") && b.paths.Exists(path.Join(dir, ".git")) {
		return p
	}
	return policy.ProtectedAround(p)
}
