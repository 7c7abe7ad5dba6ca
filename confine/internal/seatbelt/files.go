package seatbelt

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Operations are named one by one: a rule about a group of them and a rule about one of it do not
// override each other as one expects.
var (
	opsMetadata   = []string{"file-read-metadata", "file-test-existence"}
	opsRead       = []string{"file-read-data", "file-read-xattr"}
	opsExecute    = []string{"process-exec*"}
	opsMap        = []string{"file-map-executable"}
	opsUpdate     = []string{"file-write-data"}
	opsCreate     = []string{"file-write-create"}
	opsDelete     = []string{"file-write-unlink"}
	opsAttributes = []string{"file-write-mode", "file-write-owner", "file-write-flags", "file-write-times", "file-write-xattr", "file-write-finderinfo", "file-write-acl"}
	opsSockets    = []string{"network-bind", "network-outbound"}
)

// files are the rules of a profile for files, before they have a form.
type files struct {
	form    Form
	p       *policy.Profile
	entries []policy.Entry // sorted by path
	parent  []int          // the nearest entry around, or -1
	pinned  []bool         // keeps its place: not a file that is like its neighbours
}

func newFiles(p *policy.Profile, form Form) *files {
	f := &files{form: form, p: p, entries: p.Entries, parent: make([]int, len(p.Entries)), pinned: make([]bool, len(p.Entries))}
	minimal := map[string]bool{}
	for _, e := range p.MinimalEntries() {
		minimal[e.Path] = true
	}
	at := map[string]int{}
	for i, e := range f.entries {
		f.pinned[i] = minimal[e.Path]
		at[e.Path] = i
	}
	for i, e := range f.entries {
		f.parent[i] = -1
		for d := e.Path; d != "/" && f.parent[i] < 0; {
			d = path.Dir(d)
			if j, ok := at[d]; ok {
				f.parent[i] = j
			}
		}
	}
	return f
}

// owner returns the index of the entry that decides about a path, or -1.
func (f *files) owner(p string) int {
	best := -1
	for i, e := range f.entries {
		if policy.Within(p, e.Path) {
			best = i
		}
	}
	return best
}

// children returns the indexes of the entries directly below one.
func (f *files) children(i int) (out []int) {
	for j := i + 1; j < len(f.entries); j++ {
		if f.parent[j] == i {
			out = append(out, j)
		}
	}
	return out
}

// An area is what one entry grants for one right: its tree or its object, less exclusions.
type area struct {
	entry policy.Entry
	at    Filter
	only  []Filter // of these only
	less  []Filter
}

func (a area) all() Filter { return append(All{a.at}, limit(a.only, a.less)...) }

// limit returns a filter of what matches each of some filters, and none of others.
func limit(only, less []Filter) All {
	out := slices.Clone(All(only))
	for _, f := range less {
		out = append(out, Not{f})
	}
	return out
}

func at(e policy.Entry) Filter {
	if e.Kind == policy.KindDir {
		return Subpath(e.Path)
	}
	return Literal(e.Path)
}

// frontier returns the areas of a right about which entries alone decide: one for each entry that
// has it below one that has not, less the topmost entries below it that have not.
func (f *files) frontier(has func(policy.Rights) bool) (out []area) {
	for i, e := range f.entries {
		if !has(e.Rights) || f.parent[i] >= 0 && has(f.entries[f.parent[i]].Rights) {
			continue
		}
		a := area{entry: e, at: at(e)}
		for j := i + 1; j < len(f.entries); j++ {
			if has(f.entries[j].Rights) || !policy.Within(f.entries[j].Path, e.Path) {
				continue
			}
			k := f.parent[j]
			for k != i && k >= 0 && has(f.entries[k].Rights) {
				k = f.parent[k]
			}
			if k == i {
				a.less = append(a.less, Subpath(f.entries[j].Path))
			}
		}
		out = append(out, a)
	}
	return out
}

// readable is frontier less the names that would be hidden if they existed.
func (f *files) readable(has func(policy.Rights) bool) []area {
	out := f.frontier(has)
	for i := range out {
		var hidden []string
		for _, h := range f.p.HiddenLater {
			if policy.Within(h, out[i].entry.Path) {
				hidden = append(hidden, h)
			}
		}
		out[i].less = append(out[i].less, f.below(out[i].entry.Path, hidden, true)...)
	}
	return out
}

// ways returns the directories on the way to the entries with rights, and the links.
func (f *files) ways() (out []Filter) {
	seen := map[string]bool{}
	add := func(p string) {
		for ; !seen[p]; p = path.Dir(p) {
			seen[p] = true
			out = append(out, Literal(p))
		}
	}
	for _, e := range f.entries {
		if e.Rights != 0 {
			add(path.Dir(e.Path))
		}
	}
	for _, l := range f.p.Links {
		add(l.Path)
	}
	return out
}

// programs returns the filters of the files that may be started if a profile lists them.
func (f *files) programs() (out []Filter) {
	for _, p := range f.p.Programs {
		if f.p.RightsAt(p).Has(policy.Execute) && !f.p.HidesLater(p) {
			out = append(out, Literal(p))
		}
	}
	return out
}

// pre begins the expression of what lies below a directory. The layered form has no filter beside it.
func (f *files) pre(dir string) string {
	if f.form == Layered {
		return exactly(dir)
	}
	return components(dir)
}

// below returns the filters of names below a directory that may not exist, in every spelling.
func (f *files) below(dir string, names []string, subtree bool) (out []Filter) {
	end := "$"
	if subtree {
		end = tree
	}
	var tails []string
	for _, name := range names {
		t, ok := tail(dir, name, maxLiteral-len(f.pre(dir))-40)
		if !ok {
			return []Filter{Subpath(dir)} // all of it: no expression is as long
		}
		tails = append(tails, t)
	}
	for _, list := range alternatives(f.pre(dir), tails) {
		out = append(out, Regex(f.pre(dir)+list+end))
	}
	return out
}

// tail returns the expression for a name below a directory, without what is before it. Where it would
// be too long, it spells out the beginnings of the names only.
func tail(dir, name string, size int) (string, bool) {
	if name == dir {
		return "", false
	}
	parts := strings.Split(strings.TrimPrefix(name[len(strings.TrimSuffix(dir, "/")):], "/"), "/")
	for _, most := range []int{len(name), 12, 3, 0} {
		list := make([]string, len(parts))
		for i, part := range parts {
			if list[i] = spelled(part); len(part) > most {
				list[i] = "[^/]+"
				if most > 0 && isPlain(part[:most+1]) {
					list[i] = beginning(part[:most])
				}
			}
		}
		if t := strings.Join(list, "/"); len(t) < size {
			return t, true
		}
	}
	return "", false
}
