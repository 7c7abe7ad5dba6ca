package places

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
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
			dir = path.Clean(dir)
			if strings.HasPrefix(dir, "/") && dir != "/" && !b.isSystemPath(dir) && !slices.Contains(strings.Split(dir, "/"), "node_modules") {
				dirs = append(dirs, dir)
			}
		}
	}
	return append(dirs, "/usr/local/bin")
}

// isSystemPath is IsSystemPath without what users and Homebrew install on macOS.
func (b *Places) isSystemPath(dir string) bool {
	return IsSystemPath(dir) && (b.h.OS != "darwin" || !policy.Within(dir, "/usr/local"))
}

// DecidingAround returns the path that decides which a canonical path is, or lies in.
func (b *Places) DecidingAround(p string) (place, bool) {
	for _, d := range b.Deciding {
		if at := b.paths.Canonical(d.Abs); b.liesIn(p, at) && !policy.IsClientsCopy(strings.TrimPrefix(p, at)) {
			return d, true
		}
	}
	return place{}, false
}

// ProtectedAround returns the protected name that a canonical path is, or lies in, or "".
func (b *Places) ProtectedAround(p string) string {
	// A repository may have the name .github. What is in one counts in the root of another.
	if dir := path.Dir(p); strings.EqualFold(path.Base(p), ".github") && b.paths.Exists(path.Join(dir, ".git")) {
		return p
	}
	return policy.ProtectedAround(p)
}

func (b *Masks) protectDeciding() {
	for _, d := range b.Places.Deciding {
		b.protectPath(d.Abs, d.Written)
	}
	if !b.Entries.grantsWrite() {
		return
	}
	depth, home := 1, b.Paths.Canonical(b.Host.Home)
	if e, ok := b.Entries.Find(home); ok && e.Rights&policy.Write != 0 {
		depth = maxDepth // all of HOME is searched at this start anyway: see scan
	}
	listed := map[string]bool{}
	for _, d := range b.Places.Deciding {
		b.followEntries(d, depth, listed)
	}
	if b.Host.Ancestors != nil {
		for _, file := range b.Host.Ancestors() {
			b.protectProgram(file, b.Places.Abbreviate(file))
		}
	}
	if b.Host.Executable != "" {
		b.protectProgram(b.Host.Executable, b.Host.Executable)
	}
}

// The entries of maxDepth directories below each other are followed if HOME can be written, else
// those of a directory itself.
const maxDepth = 3

// followEntries protects what the symbolic links in a directory lead to. Stores and caches of
// packages are left out: the links in them lead to one another.
func (b *Masks) followEntries(d place, depth int, listed map[string]bool) {
	at, err := b.Paths.Resolve(d.Abs)
	if err != nil || !at.Exists() || !at.Info.Mode.IsDir() || listed[at.Path] || d.Kind == packages || d.Kind == Managers {
		return
	}
	listed[at.Path] = true
	byName := d.Kind == inPath || d.Kind == programs // programs are started from there
	if byName {
		b.protectParts(at.Path, d.Written)
	}
	entries, _ := b.Paths.List(at.Path) // what cannot be listed here, the server cannot list either
	for _, e := range entries {
		next := place{Abs: path.Join(at.Path, e.Name), Written: path.Join(d.Written, e.Name), Kind: d.Kind}
		further := depth > 1 && d.Kind != inPath
		if e.Type&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			if e.Type.IsDir() && further {
				b.followEntries(next, depth-1, listed)
			}
			continue
		}
		switch to, err := b.Paths.Resolve(next.Abs); {
		case err != nil || len(to.Links) == 0:
		case !to.Exists() || !to.Info.Mode.IsDir():
			b.protectProgram(next.Abs, next.Written)
		case !byName && !b.Places.isAroundWork(to.Path):
			b.protectPath(next.Abs, next.Written)
			if further {
				b.followEntries(next, depth-1, listed)
			}
		}
	}
}

func (b *Masks) protectProgram(file, named string) {
	at, err := b.Paths.Resolve(file)
	if err != nil {
		return
	}
	b.protectPath(file, named)
	if at.Exists() && !at.Info.Mode.IsDir() {
		b.protectParts(path.Dir(at.Path), named)
	}
}

// protectParts protects a directory of programs, and those from which the programs take their
// parts: the node_modules around it, and all that is beside a bin. In a working copy of git, the
// directories beside bin are the user's work. In ~/.local and the like, most of them are no part of
// a program.
func (b *Masks) protectParts(dir, named string) {
	dirs := []string{dir}
	prefix, base := hostfs.Split(dir)
	if before, _, ok := strings.Cut(dir+"/", "/node_modules/"); ok {
		dirs = append(dirs, before+"/node_modules")
	} else if (base == "bin" || base == "sbin") && !b.Places.isAroundWork(prefix) && !b.Paths.Exists(path.Join(prefix, ".git")) {
		if !b.isShared(prefix) {
			dirs = append(dirs, prefix)
		} else {
			for _, name := range [...]string{"lib", "lib64", "libexec", "etc", "pyvenv.cfg"} {
				dirs = append(dirs, path.Join(prefix, name))
			}
		}
	}
	for _, dir := range dirs {
		if !b.Places.isAroundWork(dir) {
			b.protectPath(dir, named)
		}
	}
}

// isShared reports whether a directory with a bin holds more than the programs and their parts: data
// of other programs, or the source of the user's own.
func (b *Masks) isShared(prefix string) bool {
	gopath, _ := b.Host.UserEnv("GOPATH")
	within := func(dir string) bool {
		return strings.HasPrefix(dir, "/") && policy.Within(b.Paths.Canonical(dir), prefix)
	}
	return slices.ContainsFunc([]string{b.Host.ConfigDir, b.Host.StateDir, b.Host.CacheDir, b.Host.DataDir, path.Join(b.Host.Home, ".local"), path.Join(b.Host.Home, "go"), gopath}, within)
}

// WarnNamed warns of rules that name what is mcp-jail's own or decides outside of the jail, and so grant it, and of
// rules for a directory around caches of packages, which do not grant these.
func (b *Masks) WarnNamed() {
	for _, n := range b.Targets {
		if n.Rule.Rights()&policy.Write == 0 {
			continue
		}
		written := show.TOML(n.Rule.Path)
		for _, own := range append(b.Places.OwnDirs(), b.Places.TrustedFiles()...) {
			if policy.Within(n.Canonical, b.Paths.Canonical(own)) {
				b.Warn("own-granted", n.Rule.Where, "path = %s is mcp-jail's own (%s): the server can decide there what mcp-jail grants, to itself and to all other servers", written, own)
			}
		}
		if n.Rule.Workspace {
			continue
		}
		if d, ok := b.Places.DecidingAround(n.Canonical); ok {
			b.Warn("deciding-granted", n.Rule.Where, "path = %s lets the server write %s: %s, outside the jail. Grant a directory of its own instead, unless you trust this server with that", written, d.Written, d.Why)
		} else if caches, risk := b.cachesBelow(n.Canonical); caches != nil {
			b.Warn("deciding-kept", n.Rule.Where, "path = %s does not let the server write %s: %s, outside the jail. Only a rule that names it grants it", written, strings.Join(caches, ", "), risk)
		} else if name := b.Places.ProtectedAround(n.Canonical); name != "" && n.Rule.Preset {
			b.Warn("protected-granted", n.Rule.Where, "path = %s lets the server write %s, which programs run or trust outside the jail: a rule that names it grants it. Take it out of the command line, unless you trust this server with that", written, b.Places.Abbreviate(name))
		}
	}
}

// cachesBelow returns the stores and caches of packages in a directory that does not hold the home directory.
func (b *Masks) cachesBelow(dir string) (names []string, risk string) {
	if policy.Within(b.Paths.Canonical(b.Host.Home), dir) {
		return nil, ""
	}
	for _, d := range b.Places.Deciding {
		if d.Kind == packages && policy.Within(b.Paths.Canonical(d.Abs), dir) && b.Paths.Exists(d.Abs) {
			names, risk = append(names, d.Written), d.Why
		}
	}
	return names, risk
}
