package seatbelt

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

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

// files are the rules of a profile for files.
type files struct {
	p       *policy.Profile
	entries []policy.Entry // each behind those around it, and TMPDIRs last
	at      map[string]int // the index of the entry of a path
	parent  []int          // the nearest entry around, or -1
	pinned  []bool         // keeps its place: not a file that is like its neighbours
	changes []bool         // the policy lets the server change the object itself, such as its mode
	missing [][]string     // the names of Profile.Unprotected about which it decides
}

func newFiles(p *policy.Profile) *files {
	n := len(p.Entries)
	f := &files{p: p, entries: slices.Clone(p.Entries), at: make(map[string]int, n), parent: make([]int, n), pinned: make([]bool, n), changes: make([]bool, n), missing: make([][]string, n)}
	slices.SortStableFunc(f.entries, func(a, b policy.Entry) int { return strings.Compare(tempLast(a.Path), tempLast(b.Path)) })
	minimal := map[string]bool{}
	for _, e := range p.MinimalEntries() {
		minimal[e.Path] = true
	}
	for i, e := range f.entries {
		f.pinned[i] = minimal[e.Path]
		f.at[e.Path] = i
		f.changes[i] = p.Mediate(policy.OpAttributes, e.Path) == policy.Granted
	}
	for i, e := range f.entries {
		if f.parent[i] = -1; e.Path != "/" {
			f.parent[i] = f.owner(path.Dir(e.Path))
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

// layers are the rules of some operations. Of those that match, the last decides.
type layers struct {
	ops   []string
	rules []Rule
}

func (l *layers) allow(why string, filters ...Filter) { l.add(false, why, filters) }

func (l *layers) deny(why string, filters ...Filter) { l.add(true, why, filters) }

func (l *layers) add(deny bool, why string, filters []Filter) {
	switch n := len(l.rules); {
	case len(filters) == 0, n == 0 && deny: // all is denied at first
	case n > 0 && l.rules[n-1].Deny == deny:
		l.rules[n-1].Filters = append(l.rules[n-1].Filters, filters...)
	default:
		l.rules = append(l.rules, Rule{deny, l.ops, filters, why})
	}
}

// trees adds the trees of some entries, each behind those around it. less is what is denied in each; nil:
// nothing, and entries that are like the one around them are left out.
func (f *files) trees(l *layers, why string, of, grants func(i int) bool, less func(i int) []Filter) {
	temps := false // those of all servers are granted
	for i, e := range f.entries {
		if !of(i) {
			continue
		}
		own, around := isTemp(e.Path), f.parent[i]
		if own && temps {
			l.deny("but not", allTemps())
			temps = false
		}
		temps = temps || grants(i) && policy.Within(path.Dir(TempPrefix), e.Path)
		switch {
		case around < 0 && !grants(i), less == nil && around >= 0 && of(around) && grants(around) == grants(i) && own == isTemp(f.entries[around].Path):
		case !grants(i):
			l.deny("but not", Subpath(e.Path))
		case e.Kind == policy.KindDir:
			l.allow(why, Subpath(e.Path))
		default:
			l.allow(why, Literal(e.Path))
		}
		if less != nil && grants(i) {
			l.deny("but not", less(i)...)
		}
	}
	if temps {
		l.deny("but not", allTemps())
	}
}

// readable returns the rules of a right about which entries alone decide.
func (f *files) readable(ops []string, why string, has func(policy.Rights) bool) []Rule {
	l := &layers{ops: ops}
	f.trees(l, why, func(int) bool { return true }, func(i int) bool { return has(f.entries[i].Rights) }, nil)
	return l.rules
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

// listOnly returns the directories that the server may list, where no entry decides and no
// other server has its TMPDIR.
func (f *files) listOnly() (out []Filter) {
	for _, dir := range f.p.ListOnly {
		if f.owner(dir) < 0 && !isTemp(dir) {
			out = append(out, Literal(dir))
		}
	}
	return out
}

// programs returns the filters of the files that may be started if a profile lists them.
func (f *files) programs() (out []Filter) {
	for _, p := range f.p.Programs {
		if f.p.RightsAt(p).Has(policy.Execute) {
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
	return within(dir, out)
}

// within limits filters to a directory.
func within(dir string, filters []Filter) []Filter {
	if len(filters) == 0 {
		return nil
	}
	return []Filter{All{Subpath(dir), Any(filters)}}
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
