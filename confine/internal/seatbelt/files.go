package seatbelt

import (
	"fmt"
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
	rules []rule
}

func (l *layers) allow(why string, filters ...filter) { l.add(false, why, filters) }

func (l *layers) deny(why string, filters ...filter) { l.add(true, why, filters) }

func (l *layers) add(deny bool, why string, filters []filter) {
	switch n := len(l.rules); {
	case len(filters) == 0, n == 0 && deny: // all is denied at first
	case n > 0 && l.rules[n-1].Deny == deny:
		l.rules[n-1].Filters = append(l.rules[n-1].Filters, filters...)
	default:
		l.rules = append(l.rules, rule{deny, l.ops, filters, why})
	}
}

// trees adds the trees of some entries, each behind those around it. less is what is denied in each; nil:
// nothing, and entries that are like the one around them are left out.
func (f *files) trees(l *layers, why string, of, grants func(i int) bool, less func(i int) []filter) {
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
			l.deny("but not", subpath(e.Path))
		case e.Kind == policy.KindDir:
			l.allow(why, subpath(e.Path))
		default:
			l.allow(why, literal(e.Path))
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
func (f *files) readable(ops []string, why string, has func(policy.Rights) bool) []rule {
	l := &layers{ops: ops}
	f.trees(l, why, func(int) bool { return true }, func(i int) bool { return has(f.entries[i].Rights) }, nil)
	return l.rules
}

// ways returns the directories on the way to the entries with rights, and the links.
func (f *files) ways() (out []filter) {
	seen := map[string]bool{}
	add := func(p string) {
		for ; !seen[p]; p = path.Dir(p) {
			seen[p] = true
			out = append(out, literal(p))
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
		add(string(dir.(literal)))
	}
	return out
}

// listOnly returns the directories that the server may list, where no entry decides and no
// other server has its TMPDIR.
func (f *files) listOnly() (out []filter) {
	for _, dir := range f.p.ListOnly {
		if f.owner(dir) < 0 && !isTemp(dir) {
			out = append(out, literal(dir))
		}
	}
	return out
}

// programs returns the filters of the files that may be started if a profile lists them.
func (f *files) programs() (out []filter) {
	for _, p := range f.p.Programs {
		if f.p.RightsAt(p).Has(policy.Execute) {
			out = append(out, literal(p))
		}
	}
	return out
}

// below returns the filters of names below a directory that may not exist, in every spelling.
func (f *files) below(dir string, names []string, subtree bool) (out []filter) {
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
			return []filter{subpath(dir)} // all of it: no expression is as long
		}
		tails = append(tails, t)
	}
	for _, list := range alternatives(pre, tails) {
		out = append(out, regex(pre+list+end))
	}
	return within(dir, out)
}

// within limits filters to a directory.
func within(dir string, filters []filter) []filter {
	if len(filters) == 0 {
		return nil
	}
	return []filter{all{subpath(dir), Any(filters)}}
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

// TempPrefix begins the path of each TMPDIR that mcp-jail makes for a server on macOS. It is short, for
// the names of sockets in it, and in a directory for which there may be rules. So no rule reaches the
// TMPDIR of another server, but one that names it.
const TempPrefix = "/private/tmp/mj-"

// allTemps returns the filter of all TMPDIRs.
func allTemps() filter {
	dir := path.Dir(TempPrefix)
	return all{subpath(dir), regex(components(dir) + beginning(path.Base(TempPrefix)+"x") + tree)}
}

// isTemp reports whether a path is a TMPDIR, or in one.
func isTemp(p string) bool { return strings.HasPrefix(strings.ToLower(p), TempPrefix) }

// tempLast begins differently for TMPDIRs, which come behind what is around them all.
func tempLast(p string) string {
	if isTemp(p) {
		return "b"
	}
	return "a"
}

// all returns the rules of the profile for files.
func (f *files) all() []rule {
	any := func(r policy.Rights) bool { return r != 0 }
	read := func(r policy.Rights) bool { return r.Has(policy.Read) }
	execute := func(r policy.Rights) bool { return r.Has(policy.Execute) }
	rules := slices.Concat(
		f.readable(opsMetadata, "metadata", any),
		[]rule{{Ops: opsMetadata, Filters: f.ways(), Why: "the way to each entry"}},
		f.readable(opsRead, "read", read),
		[]rule{{Ops: opsRead[:1], Filters: f.listOnly(), Why: "the names in the directories above the working directory, for bun"}},
		f.readable(opsMap, "libraries", execute),
	)
	if f.p.Programs == nil {
		rules = append(rules, f.readable(opsExecute, "execute", execute)...)
	} else {
		rules = append(rules, rule{Ops: opsExecute, Filters: f.programs(), Why: "the listed programs"})
	}
	return slices.Concat(rules, f.changing(kindUpdate, opsUpdate, "update"), f.changing(kindCreate, opsCreate, "create"),
		f.changing(kindDelete, opsDelete, "delete"), f.changing(kindAttributes, opsAttributes, "attributes"))
}

// changing returns the rules of a right about which names decide as well.
func (f *files) changing(k kind, ops []string, why string) []rule {
	l := &layers{ops: ops}
	grants := func(i int) bool {
		return f.entries[i].Kind == policy.KindDir && f.changes[i] && k.in(f.entries[i].Rights)
	}
	own := f.own(k)
	in := func(want bool) func(int) bool {
		return func(i int) bool { return own[i] == want && f.entries[i].Kind == policy.KindDir }
	}
	f.trees(l, why, in(false), grants, nil)
	l.deny("protected files", f.protected(k)...)
	f.trees(l, why, in(true), grants, func(i int) []filter { return f.protectedInside(f.entries[i], k) })
	for i := range f.entries {
		if grants(i) {
			l.deny("but not", f.unprotected(i, k)...)
		}
	}
	if k.names() {
		l.deny("what keeps its place", f.pins(k, grants)...)
	}
	for i, e := range f.entries {
		around := f.parent[i]
		inGrant := around >= 0 && grants(around)
		switch {
		case e.Kind == policy.KindDir:
		case k.names():
			// Such a file may be replaced, also where its name is protected, but not by a link.
			if k != kindSocket && inGrant && !f.pinned[i] && !(k == kindCreate && f.p.ProtectsFromLink(e.Path)) {
				l.allow("files that may be replaced", literal(e.Path))
			}
		case k == kindUpdate && k.in(e.Rights) && f.p.Allows(policy.OpWrite, e.Path), k == kindAttributes && f.changes[i]:
			l.allow(why, literal(e.Path))
		case inGrant:
			l.deny("but not", subpath(e.Path))
		}
	}
	return l.rules
}

// sockets returns the rules for UNIX sockets: they may be made, and connected to, in entries in which
// the server may make files and write them, less the objects that are no files.
func (f *files) sockets() []rule {
	rules := f.changing(kindSocket, opsSockets, "UNIX sockets")
	if len(rules) > 0 {
		rules = append(rules, rule{true, opsSockets, []filter{literal(resolver)}, "but not"})
	}
	named := rule{Ops: opsSockets[1:], Why: "sockets that a rule names"}
	for _, e := range f.entries {
		if e.Kind == policy.KindSpecial && e.Origin == policy.OriginRule && e.Path != resolver && f.p.Allows(policy.OpWrite, e.Path) {
			named.Filters = append(named.Filters, literal(e.Path))
		}
	}
	return slices.DeleteFunc(append(rules, named), func(r rule) bool { return len(r.Filters) == 0 })
}

// resolver is the socket of the system's resolver. It asks any host's name server, so no rule opens it.
const resolver = "/private/var/run/mDNSResponder"

// A Filter matches an object by its path. The set is closed, so that the evaluator of the tests
// knows each of them.
type filter interface{ write(w *writer) }

type (
	literal string   // this path
	subpath string   // this path and everything below it
	regex   string   // anchored at its start, ASCII
	vnode   string   // an object of this type; in denies only
	all     []filter // every one of them
	Any     []filter // one of them
	not     struct{ Filter filter }
)

// A Rule allows operations on what one of its filters matches, or denies them. Of the rules about an operation
// the last that matches decides. No allow has a condition besides a path, which could make it the more precise.
type rule struct {
	Deny    bool
	Ops     []string
	Filters []filter
	Why     string
}

// maxLiteral is the most that a text has in one string. Above 1,025 bytes the system refuses a text.
const maxLiteral = 900

// A writer writes a text and collects its parameters.
type writer struct {
	strings.Builder
	names  map[string]string // of a parameter, by its value
	params []string          // NAME=value
	err    error
}

// path writes a path as a literal if it is short plain ASCII. Others go by a parameter: a byte
// outside ASCII anywhere in a text ends sandbox-exec without a message.
func (w *writer) path(p string) {
	if why := unfit(p); why != "" && w.err == nil {
		w.err = &PathError{p, why}
	}
	if isPlain(p) {
		w.WriteString(`"` + p + `"`)
		return
	}
	name, ok := w.names[p]
	if !ok {
		name = fmt.Sprintf("P%d", len(w.params))
		w.names[p] = name
		w.params = append(w.params, name+"="+p)
	}
	w.WriteString(`(param "` + name + `")`)
}

func isPlain(s string) bool {
	return len(s) <= maxLiteral && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
}

func (f literal) write(w *writer) { w.WriteString("(literal "); w.path(string(f)); w.WriteByte(')') }
func (f subpath) write(w *writer) { w.WriteString("(subpath "); w.path(string(f)); w.WriteByte(')') }
func (f regex) write(w *writer)   { w.WriteString(`(regex #"` + string(f) + `")`) }
func (f vnode) write(w *writer)   { w.WriteString("(vnode-type " + string(f) + ")") }
func (f not) write(w *writer)     { w.list("require-not", []filter{f.Filter}) }
func (f all) write(w *writer)     { w.joined("require-all", f) }
func (f Any) write(w *writer)     { w.joined("require-any", f) }

func (w *writer) joined(word string, filters []filter) {
	if len(filters) == 1 {
		filters[0].write(w)
		return
	}
	w.list(word, filters)
}

func (w *writer) list(word string, filters []filter) {
	w.WriteString("(" + word)
	for _, f := range filters {
		w.WriteByte(' ')
		f.write(w)
	}
	w.WriteByte(')')
}

// rule writes a rule without the operations that the system does not know. A rule without filters
// matches nothing, and is not written: as text it would match everything.
func (w *writer) rule(r rule, without []string) {
	ops := slices.DeleteFunc(slices.Clone(r.Ops), func(op string) bool { return slices.Contains(without, op) })
	if len(r.Filters) == 0 || len(ops) == 0 {
		return
	}
	if r.Why != "" {
		w.WriteString("; " + r.Why + "\n")
	}
	verb := "(allow "
	if r.Deny {
		verb = "(deny "
	}
	w.WriteString(verb + strings.Join(ops, " "))
	for _, f := range r.Filters {
		w.WriteString("\n  ")
		f.write(w)
	}
	w.WriteString(")\n")
}
