package seatbelt_test

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// explanation returns the rule of the package comment that makes a text stricter than the profile, or
// "".
func explanation(p *policy.Profile, op policy.Op, name string) string {
	name = strings.TrimSuffix(name, "/.")
	folded := fold(name)
	base := path.Base(folded)
	creates := op == policy.OpCreate || op == policy.OpMkdir
	switch e, _ := p.Find(name); {
	case op == policy.OpWrite && e.Path == name && e.Kind == policy.KindDir:
		return "a directory has no contents to write"
	case creates && slices.ContainsFunc(p.Unprotected, func(u string) bool { return policy.Within(fold(u), folded) }):
		return "the way to a name that must not come into being"
	case op == policy.OpMkdir && (base == ".github" || base == ".hg"):
		return "a directory that could be moved there with contents"
	case slices.ContainsFunc(p.Unprotected, func(u string) bool { return policy.Within(folded, fold(u)) }):
		return "another spelling of a name that must not come into being"
	case creates && slices.ContainsFunc(p.IgnoreCase, func(dir string) bool { return pinned(p, dir, folded) }):
		return "another spelling of an entry, or of the way to one"
	case creates && p.ProtectsFromLink(name) && e.Path == name:
		return "a file that could be replaced by a link"
	case inPackageBelowName(folded):
		return "a package below a protected file"
	case op != policy.OpRead && op != policy.OpExec && strings.Contains(folded, "/node_modules") && namedAround(p, name):
		return "a package in what a rule grants below a protected file"
	case regexp.MustCompile(`/(modules|worktrees)/.*refs/(heads|remotes|tags)(/|$)`).MatchString(folded):
		return "the name of a branch"
	case slices.ContainsFunc(p.Entries, func(e policy.Entry) bool {
		return baselineInName(e) && policy.Within(name, e.Path)
	}):
		return "a directory of the baseline below a protected file"
	case slices.ContainsFunc(p.GitDirs, func(g string) bool { return (&policy.Profile{}).ProtectedName(path.Base(g)) && policy.Within(name, g) }):
		return "a git directory that has the name of something else that is protected"
	case folded == name && (policy.HasProtectedName(folded) || base == ".git" || strings.Contains(folded, "/.git/")):
		return ""
	case policy.HasProtectedName(folded) || base == ".git" || strings.Contains(folded, "/.git/"):
		return "another spelling of a protected file"
	}
	return ""
}

// baselineInName reports whether an entry is a directory below a protected name in which the baseline
// lets a server write. Resolve makes none.
func baselineInName(e policy.Entry) bool {
	return e.Origin == policy.OriginBaseline && e.Kind == policy.KindDir && e.Rights&policy.Write != 0 && slices.ContainsFunc(strings.Split(e.Path, "/"), (&policy.Profile{}).ProtectedName)
}

// pinned reports whether a path is that of an entry, or on the way to one, in another spelling.
func pinned(p *policy.Profile, around, folded string) bool {
	return slices.ContainsFunc(p.Entries, func(e policy.Entry) bool {
		return policy.Within(e.Path, around) && policy.Within(fold(e.Path), folded)
	})
}

// namedAround reports whether a rule around a path leads to a protected name or to a git directory.
func namedAround(p *policy.Profile, name string) bool {
	return slices.ContainsFunc(p.Entries, func(e policy.Entry) bool {
		inGit := slices.ContainsFunc(p.GitDirs, func(g string) bool { return policy.Within(e.Path, g) })
		return policy.Within(name, e.Path) && (inGit || slices.ContainsFunc(strings.Split(e.Path, "/"), (&policy.Profile{}).ProtectedName))
	})
}

func inPackageBelowName(folded string) bool {
	i := strings.Index(folded, "/node_modules")
	return i >= 0 && policy.HasProtectedName(folded[:strings.LastIndex(folded, "/node_modules")])
}

// fold returns a path as the expressions of a text compare it: they take each run of characters
// outside ASCII for each other.
func fold(s string) string {
	s = strings.NewReplacer("\u017f", "s", "\u212a", "k", "\u0130", "i", "\ufb03", "ffi", "\ufb02", "fl", "\u200d", "", "a\u0308", "\u00e4", "\u00c4", "\u00e4").Replace(s)
	names := strings.Split(strings.ToLower(s), "/")
	for i, n := range names {
		names[i] = strings.TrimRight(n, ". ")
	}
	return strings.Join(names, "/")
}
