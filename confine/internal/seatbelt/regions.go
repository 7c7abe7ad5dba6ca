package seatbelt

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// regions are the areas of a right about which names decide as well.
type regions struct {
	kind kind
	// common are the areas of which what protection(anywhere) matches is excluded.
	common []area
	// packages are the areas of files of packages, which may have protected names.
	packages []area
	// both are those that are the same in common and in packages.
	both []area
	// own have all their exclusions in themselves.
	own []area
	// replaceable are files that are like their neighbours: they may be replaced, although a rule
	// names them and their name is protected.
	replaceable []Filter
}

func (f *files) regions(k kind) regions {
	r := regions{kind: k}
	for i, e := range f.entries {
		if !e.Rights.Has(k.right()) && k != kindAttributes {
			continue
		}
		if e.Kind != policy.KindDir {
			if k == kindUpdate && f.p.Allows(policy.OpWrite, e.Path) || k == kindAttributes && f.changes[i] {
				r.own = append(r.own, area{entry: e, at: Literal(e.Path)})
			}
			continue
		}
		if !f.changes[i] {
			continue // no right, or all of it is protected
		}
		a := f.region(&r, i)
		if e.Origin == policy.OriginHome {
			r.own = append(r.own, a.without(f.unprotected(i, k, false)))
			continue
		}
		p, shared := f.packages(i, a, k)
		a = a.without(f.unprotected(i, k, true)).without(f.gitDirs(e, k))
		switch {
		case namesProtected(e):
			r.own = append(r.own, a.without(f.protectionInside(e, k)))
		case shared && reflect.DeepEqual(a.less, p.less):
			r.both = append(r.both, a)
			continue
		default:
			r.common = append(r.common, a)
		}
		switch {
		case shared:
			r.packages = append(r.packages, p)
		case p.at != nil:
			r.own = append(r.own, p)
		}
	}
	return r
}

func (a area) without(less []Filter) area {
	a.less = slices.Concat(a.less, less)
	return a
}

// makes reports whether the right is to make names.
func (k kind) makes() bool { return k == kindCreate || k == kindSocket }

func (k kind) right() policy.Rights {
	return [...]policy.Rights{kindUpdate: policy.Update, kindCreate: policy.Create, kindSocket: policy.Create, kindDelete: policy.Delete, kindAttributes: policy.Write}[k]
}

// region returns the area of an entry less the entries below it, and for what makes and removes
// names also less its own path and the directories on the way to an entry below: they keep their
// places, because an entry moves with the directory around it.
func (f *files) region(r *regions, i int) area {
	e := f.entries[i]
	a := area{entry: e, at: Subpath(e.Path), less: f.temps(e.Path)}
	naming := r.kind.makes() || r.kind == kindDelete
	if naming {
		a.less = append(a.less, Literal(e.Path))
	}
	for _, j := range f.inside[i] {
		switch child := f.entries[j].Path; {
		case naming && !f.pinned[j]:
			if !r.kind.makes() || !f.p.ProtectsFromLink(child) { // else it could be replaced by a link
				r.replaceable = append(r.replaceable, Literal(child))
			}
		default:
			a.less = append(a.less, Subpath(child))
		}
	}
	if !naming {
		return a
	}
	var folded []string
	for _, p := range f.pins(i) {
		if f.owner(p) == i {
			a.less = append(a.less, Literal(p))
		}
		if r.kind.makes() && f.isFolded(p) {
			folded = append(folded, p)
		}
	}
	return a.without(f.below(e.Path, folded, false))
}

// pins returns the paths below an entry that are entries, or lead to one, as far as the entry itself
// decides about their names.
func (f *files) pins(i int) (out []string) {
	e := f.entries[i]
	seen := map[string]bool{}
	for j := i + 1; j < len(f.entries); j++ {
		if !f.pinned[j] || !policy.Within(f.entries[j].Path, e.Path) {
			continue
		}
		for p := f.entries[j].Path; p != e.Path && !seen[p]; p = path.Dir(p) {
			seen[p] = true
			if f.owner(path.Dir(p)) == i {
				out = append(out, p)
			}
		}
	}
	return out
}

// isFolded reports whether a disk finds a path under other spellings as well.
func (f *files) isFolded(p string) bool {
	return slices.ContainsFunc(f.p.Folded, func(n policy.FoldedName) bool { return policy.Within(p, n.Path) })
}

// unprotected returns the filters of the names in an entry that must not come into being. guarded
// leaves out those that protection matches as well.
func (f *files) unprotected(i int, k kind, guarded bool) []Filter {
	e := f.entries[i]
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
func namesProtected(e policy.Entry) bool {
	return e.Origin == policy.OriginRule && slices.ContainsFunc(strings.Split(e.Path, "/"), policy.ProtectedName)
}

// protectionInside returns the filters of what is protected in the directory of an entry. The entries
// around it do not count. Protected are names below it, and those that begin in its own path, unless the entry is a rule that
// names them.
func (f *files) protectionInside(e policy.Entry, k kind) []Filter {
	out := protection(components(e.Path)+"(.*/)?", k)
	_, partial := protectedNames()
	for d := e.Path; d != path.Dir(d); d = path.Dir(d) {
		pre := components(path.Dir(d))
		for _, name := range append(partial, ".git") {
			if !matches(Regex("^"+known(name)+"$"), path.Base(d)) {
				continue
			}
			if guards := partProtection(pre, name, k); e.Origin != policy.OriginRule || !coversAll(guards, e.Path) {
				out = append(out, guards...)
			} else if name == ".git" {
				out = append(out, linkProtection(pre+known(name)+"/", k)...)
			}
		}
	}
	return out
}

// gitDirs returns the filters of what is protected in the git directories with other names, as far as
// they concern an entry.
func (f *files) gitDirs(e policy.Entry, k kind) (out []Filter) {
	for _, dir := range f.p.GitDirs {
		if !policy.Within(dir, e.Path) && !policy.Within(e.Path, dir) {
			continue
		}
		guards := gitProtection(components(dir), k)
		if e.Origin == policy.OriginRule && policy.Within(e.Path, dir) && coversAll(guards, e.Path) {
			guards = linkProtection(components(dir), k)
		}
		for _, g := range guards {
			out = append(out, All{Subpath(dir), g})
		}
		if k != kindAttributes && dir != e.Path {
			out = append(out, Literal(dir))
		}
	}
	return out
}

// packages returns the area of the files of packages, where there may be some: a is the region of
// entry n. shared tells that packagesOnly limits it, else the area does it by itself.
func (f *files) packages(n int, a area, k kind) (p area, shared bool) {
	e := a.entry
	i := slices.IndexFunc(f.entries, func(w policy.Entry) bool {
		return w.Origin == policy.OriginRule && w.Rights&policy.Write != 0 && w.Path != "/" && policy.Within(e.Path, w.Path)
	})
	if i < 0 {
		return area{}, false
	}
	for _, g := range f.p.GitDirs {
		switch {
		case policy.Within(e.Path, g):
			return area{}, false
		case policy.Within(g, e.Path):
			a = a.without([]Filter{Subpath(g)})
		}
	}
	w := f.entries[i].Path
	inside := strings.Contains("/"+path.Base(w)+e.Path[len(w):]+"/", "/node_modules/")
	a = a.without(f.unprotected(n, k, !inside))
	if !namesProtected(e) && (inside || !strings.Contains(e.Path, "/node_modules/")) {
		return a, true
	}
	pre := components(e.Path) + "(.*/)?"
	if !inside {
		a.only = []Filter{Regex(pre + "node_modules" + tree)}
	}
	_, less := packagesOnly(pre)
	return a.without(less), false
}

// packagesOnly returns the filters that limit areas to files of packages: those below node_modules,
// but not in a git directory, and not where node_modules is below a protected name.
func packagesOnly(pre string) (only Filter, less []Filter) {
	whole, partial := protectedNames()
	less = append(expressions(pre, whole, "/(.*/)?node_modules"+tree), Regex(anywhere+known(".git")+tree))
	for _, name := range partial {
		below, _ := policy.ProtectedParts(name)
		less = append(less, expressions(pre+known(name)+"/", below, "/(.*/)?node_modules"+tree)...)
	}
	return Regex(pre + "node_modules" + tree), less
}
