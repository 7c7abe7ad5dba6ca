package seatbelt

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// kind is one of the rights about which names decide as well.
type kind uint8

const (
	kindUpdate kind = iota
	kindCreate
	kindDelete
	kindAttributes
	kindSocket // like kindCreate
)

// makes reports whether the right is to make names.
func (k kind) makes() bool { return k == kindCreate || k == kindSocket }

// names reports whether the right is to make names or to remove them.
func (k kind) names() bool { return k.makes() || k == kindDelete }

// in reports whether the rights of a directory have the right.
func (k kind) in(r policy.Rights) bool {
	switch k {
	case kindUpdate:
		return r.Has(policy.Update)
	case kindCreate:
		return r.Has(policy.Create)
	case kindDelete:
		return r.Has(policy.Delete)
	case kindSocket:
		return r.Has(policy.Create | policy.Update)
	}
	return true
}

// own tells which entries have what is protected in them by themselves: the server's own directories, those of
// rules that name something protected, and what is in them.
func (f *files) own(k kind) []bool {
	own := make([]bool, len(f.entries))
	for i, e := range f.entries {
		own[i] = f.parent[i] >= 0 && own[f.parent[i]] || e.Origin == policy.OriginHome || namesProtected(f.p, e) || slices.ContainsFunc(f.p.GitDirs, func(dir string) bool { return namesGitPart(e, dir, k) })
	}
	return own
}

// pins returns the filters of the entries in grants, and of the directories on the way to one: they keep their
// places, because an entry moves with the directory around it.
func (f *files) pins(k kind, grants func(i int) bool) (out []filter) {
	seen, folded := map[string]bool{}, make([][]string, len(f.entries))
	for i, e := range f.entries {
		for p := e.Path; f.pinned[i] && p != "/" && !seen[p]; p = path.Dir(p) {
			seen[p] = true
			around := f.owner(path.Dir(p))
			inGrant := around >= 0 && grants(around)
			if n, isEntry := f.at[p]; inGrant || isEntry && grants(n) {
				out = append(out, literal(p))
			}
			if inGrant && k.makes() && f.p.IgnoresCase(p) {
				folded[around] = append(folded[around], p)
			}
		}
	}
	for i, names := range folded {
		out = append(out, f.below(f.entries[i].Path, names, false)...)
	}
	return out
}

// unprotected returns the filters of the names in an entry that must not come into being, but for those that
// are protected anyway.
func (f *files) unprotected(i int, k kind) []filter {
	e := f.entries[i]
	guarded := e.Origin != policy.OriginHome && !strings.Contains(e.Path+"/", "/node_modules/")
	var names, ways []string
	for _, u := range f.missing[i] {
		if rel := u[len(strings.TrimSuffix(e.Path, "/")):]; !guarded || !policy.HasProtectedName(rel) || strings.Contains(rel, "/node_modules/") {
			names = append(names, u)
		}
		if !k.makes() {
			continue
		}
		for d := path.Dir(u); d != path.Dir(d) && d != e.Path && !slices.Contains(ways, d); d = path.Dir(d) {
			if !guarded || !guardsDirectory(d[len(strings.TrimSuffix(e.Path, "/")):]) {
				ways = append(ways, d)
			}
		}
	}
	return append(f.below(e.Path, names, true), f.below(e.Path, ways, false)...)
}

// guardsDirectory reports whether protection matches a directory, relative to an entry, as something
// that cannot be made.
func guardsDirectory(rel string) bool {
	name := path.Base(rel)
	return (name == ".git" || name == ".github" || name == ".hg" || policy.HasProtectedName(rel)) && !strings.Contains(rel, "/node_modules/")
}

// namesProtected reports whether a rule leads to a protected name, or to a git directory.
func namesProtected(p *policy.Profile, e policy.Entry) bool {
	return e.Origin == policy.OriginRule && slices.ContainsFunc(strings.Split(e.Path, "/"), p.ProtectedName)
}

// namesGitPart reports whether a rule leads to what git trusts in a git directory with another name.
func namesGitPart(e policy.Entry, dir string, k kind) bool {
	return e.Origin == policy.OriginRule && policy.Within(e.Path, dir) && coversAll(gitProtection(components(dir), k), e.Path)
}

// protected returns the filters of what is protected wherever it is, but for files of packages, and of what is
// in git directories with other names.
func (f *files) protected(k kind) (out []filter) {
	if names := append(protection(anywhere, k), hidden(f.p, anywhere)...); k == kindSocket || f.packages() == nil {
		out = names
	} else {
		out = []filter{all{Any(names), not{f.packages()}}}
	}
	for _, dir := range f.p.GitDirs {
		out = append(out, gitDir(dir, gitProtection(components(dir), k), k)...)
	}
	return out
}

// gitDir returns the filters of what is protected in a git directory with another name.
func gitDir(dir string, guards []filter, k kind) []filter {
	out := within(dir, guards)
	if k != kindAttributes {
		out = append(out, literal(dir))
	}
	return out
}

// protectedInside returns the filters of what is protected in the directory of an entry. The entries around it
// do not count. Protected are names below it, and those that begin in its own path, unless the entry is a rule
// that names them.
func (f *files) protectedInside(e policy.Entry, k kind) []filter {
	if e.Origin == policy.OriginHome {
		return nil
	}
	out := append(protection(components(e.Path)+"(.*/)?", k), hidden(f.p, components(e.Path)+"(.*/)?")...)
	_, partial := protectedNames()
	for d := e.Path; d != path.Dir(d); d = path.Dir(d) {
		pre := components(path.Dir(d))
		for _, name := range append(partial, ".git") {
			if !matches(regex("^"+known(name)+"$"), path.Base(d)) {
				continue
			}
			if guards := partProtection(pre, name, k); e.Origin != policy.OriginRule || !coversAll(guards, e.Path) {
				out = append(out, guards...)
			} else if name == ".git" {
				out = append(out, linkProtection(pre+known(name)+"/", k)...)
			}
		}
	}
	out = within(e.Path, out)
	for _, dir := range f.p.GitDirs {
		switch {
		case namesGitPart(e, dir, k):
			out = append(out, within(dir, linkProtection(components(dir), k))...)
		case policy.Within(dir, e.Path), policy.Within(e.Path, dir):
			out = append(out, gitDir(dir, gitProtection(components(dir), k), k)...)
		}
	}
	return out
}

// packages returns the filter of the files of packages, which may have protected names: those below node_modules
// in what a rule lets the server write, but not in a git directory, and not where node_modules is below a
// protected name. It is nil if there are none.
func (f *files) packages() filter {
	rules := map[string]Any{} // by the beginning of the expressions
	top := "/"
	for _, e := range f.p.Entries {
		if e.Origin == policy.OriginRule && e.Rights&policy.Write != 0 && e.Path != "/" && (top == "/" || !policy.Within(e.Path, top)) {
			top = e.Path
			pre := components(path.Dir(top))
			rules[pre] = append(rules[pre], subpath(top))
		}
	}
	var in Any
	for _, pre := range slices.Sorted(maps.Keys(rules)) {
		in = append(in, all{rules[pre], regex(pre + "(.*/)?node_modules" + tree)})
	}
	if in == nil {
		return nil
	}
	whole, partial := protectedNames()
	less := append(expressions(anywhere, whole, "/(.*/)?node_modules"+tree), regex(anywhere+known(".git")+tree))
	for _, name := range partial {
		below, _ := policy.ProtectedParts(name)
		less = append(less, expressions(anywhere+known(name)+"/", below, "/(.*/)?node_modules"+tree)...)
	}
	for _, dir := range f.p.GitDirs {
		less = append(less, subpath(dir))
	}
	return all{in, not{Any(less)}}
}
