package seatbelt

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

// anywhere begins the expression of a name in any directory.
const anywhere = "^/(.*/)?"

// components begins the expression of what lies below a directory whose path has as many components.
// It does not spell the path out, so it stays short, and needs a filter beside it that does.
func components(dir string) string { return "^" + strings.Repeat("/[^/]+", depth(dir)) + "/" }

func depth(p string) int {
	if p == "/" {
		return 0
	}
	return strings.Count(p, "/")
}

const (
	tree    = "(/.*)?$" // a name and all below it
	foreign = "[^ -~]"  // a character outside ASCII
)

// protectedNames returns the names of which all is protected, and those of which parts are, but for
// .git.
var protectedNames = sync.OnceValues(func() (whole, partial []string) {
	for _, p := range policy.ProtectedPaths() {
		name, _, _ := strings.Cut(p, "/")
		below, _ := policy.ProtectedParts(name)
		switch {
		case below == nil:
			whole = append(whole, name)
		case name != ".git" && !slices.Contains(partial, name):
			partial = append(partial, name)
		}
	}
	return whole, slices.Clip(append(partial, ".hg"))
})

var spellings sync.Map // of the names that known was asked for

// known returns spelled of a name of the policy. There are few, and each is in many expressions.
func known(name string) string {
	s, ok := spellings.Load(name)
	if !ok {
		s, _ = spellings.LoadOrStore(name, spelled(name))
	}
	return s.(string)
}

// protection returns the filters of what no server may change, with pre as the beginning of each
// expression.
func protection(pre string, k kind) []filter {
	whole, partial := protectedNames()
	out := expressions(pre, whole, tree)
	for _, name := range append(partial, ".git") {
		out = append(out, partProtection(pre, name, k)...)
		// A directory of such a name could be moved there with its contents.
		if name == ".git" && k == kindDelete || k.makes() || k == kindUpdate {
			out = append(out, regex(pre+known(name)+"$"))
		}
	}
	return out
}

// hidden returns the filters of the names that are hidden at any depth, with pre as the beginning of each expression.
func hidden(p *policy.Profile, pre string) (out []filter) {
	for _, name := range p.Hidden {
		name, except := strings.CutPrefix(name, "!")
		var parts []string
		for part := range strings.SplitSeq(name, "/") {
			parts = append(parts, matching(part))
		}
		f := regex(pre + strings.Join(parts, "/") + tree)
		if except && out != nil {
			out = []filter{all{Any(out), not{f}}}
		} else {
			out = append(out, f)
		}
	}
	return out
}

// matching returns the expression of a pattern for a name, in all spellings. What is in brackets is any character.
func matching(pattern string) (expression string) {
	for pattern != "" {
		i := strings.IndexAny(pattern, `*?[\`)
		switch {
		case i < 0:
			return expression + known(pattern)
		case i > 0:
			expression += strings.TrimSuffix(known(pattern[:i]), atEnd)
			pattern = pattern[i:]
		case pattern[0] == '*':
			expression, pattern = expression+"[^/]*", pattern[1:]
		case pattern[0] == '[':
			_, pattern, _ = strings.Cut(pattern[1:], "]")
			expression += "[^/]"
		case pattern[0] == '?':
			expression, pattern = expression+"[^/]", pattern[1:]
		default:
			expression, pattern = expression+"[^/]", pattern[min(2, len(pattern)):]
		}
	}
	return expression
}

// partProtection returns the filters of the protected parts of a directory with one of the names of
// which parts are protected.
func partProtection(pre, name string, k kind) []filter {
	if name == ".git" {
		return gitProtection(pre+known(name)+"/", k)
	}
	parts, _ := policy.ProtectedParts(name)
	return expressions(pre+known(name)+"/", parts, tree)
}

// gitProtection returns the filters of what git trusts in a git directory. git is the beginning of
// the expressions, up to the slash behind the git directory.
func gitProtection(git string, k kind) []filter {
	modules := git + "(" + known("worktrees") + "/[^/]+/)*" + known("modules")
	itself := modules + "(/[^/]+)?$" // git would take the directory of a submodule for its own clone
	if k == kindAttributes {
		itself = modules + "$"
	}
	const branch = "refs/(heads|remotes|tags)"
	branches := git + "(modules|worktrees)/[^/]+/(.*/)?" + branch
	out := append(expressions(git, policy.GitParts, tree), regex(itself), regex(branches+"/(.*/)?"+known(".git")+tree))
	out = append(out, linkProtection(git, k)...)
	// A name counts unless it is part of the name of a branch: behind branch, and not before it.
	for _, part := range []struct {
		pre   string
		names []string
	}{
		{modules + "/[^/]+/(.*/)?", policy.GitParts},
		{modules + "/(.*/)?" + known("worktrees") + "/[^/]+/", policy.WorktreeParts},
		{git + known("worktrees") + "/[^/]+/(.*/)?", policy.WorktreeParts},
	} {
		for _, r := range expressions(part.pre, part.names, tree) {
			out = append(out, all{r, not{regex(branches + tree)}})
		}
		out = append(out, expressions(part.pre, part.names, "/(.*/)?"+branch+tree)...)
	}
	return out
}

// linkProtection returns the filters of links and directories in the git directories of submodules and
// worktrees. git would follow a link to a directory in which the server may write each file, and take
// a directory that was moved there with its contents for a submodule's. A rule that names something
// there does not change that. What a git directory has directories for as a rule is not refused:
// objects, references and their logs, but not these three themselves, which only a clone lacks.
func linkProtection(git string, k kind) []filter {
	if k != kindCreate {
		return nil
	}
	internals := git + "(" + known("modules") + "|" + known("worktrees") + ")"
	return []filter{
		all{vnode("SYMLINK"), regex(internals + tree)},
		all{vnode("DIRECTORY"), regex(internals + tree), not{regex(internals + "/[^/]+/(.*/)?(objects|refs|logs)/.*$")}},
	}
}

// expressions returns the expressions of names in all their spellings, between a beginning and an end.
func expressions(pre string, names []string, end string) (out []filter) {
	var list []string
	for _, n := range names {
		list = append(list, known(n))
	}
	for _, names := range alternatives(pre+end, list) {
		out = append(out, regex(pre+names+end))
	}
	return out
}

// coversAll reports whether a filter of protection matches everything in a directory: then a rule for
// the directory names something protected.
func coversAll(filters []filter, dir string) bool {
	return slices.ContainsFunc(filters, func(f filter) bool { return matches(f, dir+"/x") && matches(f, dir+"/x/x") })
}

// matches reports whether a filter matches a path. The object there is no link.
func matches(f filter, p string) bool {
	switch f := f.(type) {
	case regex:
		return regexp.MustCompile(string(f)).MatchString(p)
	case not:
		return !matches(f.Filter, p)
	case all:
		return !slices.ContainsFunc(f, func(g filter) bool { return !matches(g, p) })
	}
	return false
}

// alternatives joins expressions to few, of which none becomes too long with pre before it.
func alternatives(pre string, list []string) (out []string) {
	for len(list) > 0 {
		n, size := 1, len(pre)+len(list[0])
		for n < len(list) && size+len(list[n]) < maxLiteral-20 {
			size += len(list[n]) + 1
			n++
		}
		out = append(out, "("+strings.Join(list[:n], "|")+")")
		list = list[n:]
	}
	return out
}
