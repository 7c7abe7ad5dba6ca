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
	p       *policy.Profile
	entries []policy.Entry // sorted by path
	at      map[string]int // the index of the entry of a path
	parent  []int          // the nearest entry around, or -1
	pinned  []bool         // keeps its place: not a file that is like its neighbours
	changes []bool         // the policy lets the server change the object itself, such as its mode
	inside  [][]int        // the entries directly below it
	missing [][]string     // the names of Profile.Unprotected about which it decides
}

func newFiles(p *policy.Profile) *files {
	n := len(p.Entries)
	f := &files{p: p, entries: p.Entries, at: make(map[string]int, n), parent: make([]int, n), pinned: make([]bool, n), changes: make([]bool, n), inside: make([][]int, n), missing: make([][]string, n)}
	minimal := map[string]bool{}
	for _, e := range p.MinimalEntries() {
		minimal[e.Path] = true
	}
	for i, e := range f.entries {
		f.pinned[i] = minimal[e.Path]
		f.at[e.Path] = i
		f.changes[i] = p.MediateAttributes(e.Path) == policy.Granted
	}
	for i, e := range f.entries {
		if f.parent[i] = -1; e.Path != "/" {
			f.parent[i] = f.owner(path.Dir(e.Path))
		}
		if around := f.parent[i]; around >= 0 {
			f.inside[around] = append(f.inside[around], i)
		}
	}
	for _, u := range p.Unprotected {
		if i := f.owner(u); i >= 0 {
			f.missing[i] = append(f.missing[i], u)
		}
	}
	return f
}

// owner returns the index of the entry that decides about a path, or -1.
func (f *files) owner(p string) int {
	for {
		if i, ok := f.at[p]; ok {
			return i
		}
		if p == path.Dir(p) {
			return -1
		}
		p = path.Dir(p)
	}
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
		if !has(e.Rights) {
			continue
		}
		if around := f.parent[i]; around >= 0 && has(f.entries[around].Rights) && (!isTemp(e.Path) || isTemp(f.entries[around].Path)) {
			continue
		}
		a := area{entry: e, at: at(e), less: f.temps(e.Path)}
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
	for _, dir := range f.listOnly() {
		add(string(dir.(Literal)))
	}
	return out
}

// listOnly returns the directories that the server may list, where no entry decides, nothing is
// hidden, and no other server has its TMPDIR.
func (f *files) listOnly() (out []Filter) {
	for _, dir := range f.p.ListOnly {
		if f.owner(dir) < 0 && !f.p.HidesLater(dir) && !isTemp(dir) {
			out = append(out, Literal(dir))
		}
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

// below returns the filters of names below a directory that may not exist, in every spelling.
func (f *files) below(dir string, names []string, subtree bool) (out []Filter) {
	if len(names) == 0 {
		return nil
	}
	pre, end := components(dir), "$"
	if subtree {
		end = tree
	}
	var tails []string
	for _, name := range names {
		t, ok := tail(dir, name, maxLiteral-len(pre)-40)
		if !ok {
			return []Filter{Subpath(dir)} // all of it: no expression is as long
		}
		tails = append(tails, t)
	}
	for _, list := range alternatives(pre, tails) {
		out = append(out, Regex(pre+list+end))
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
