package seatbelt

import (
	"fmt"
	"slices"
	"strings"
)

// A Filter matches an object by its path. The set is closed, so that the evaluator of the tests
// knows each of them.
type Filter interface{ write(w *writer) }

type (
	Literal string   // this path
	Subpath string   // this path and everything below it
	Regex   string   // anchored at its start, ASCII
	Vnode   string   // an object of this type; in denies only
	All     []Filter // every one of them
	Any     []Filter // one of them
	Not     struct{ Filter Filter }
)

// A Rule allows operations on what one of its filters matches, or denies them. Of the rules about an operation
// the last that matches decides. No allow has a condition besides a path, which could make it the more precise.
type Rule struct {
	Deny    bool
	Ops     []string
	Filters []Filter
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

func (f Literal) write(w *writer) { w.WriteString("(literal "); w.path(string(f)); w.WriteByte(')') }
func (f Subpath) write(w *writer) { w.WriteString("(subpath "); w.path(string(f)); w.WriteByte(')') }
func (f Regex) write(w *writer)   { w.WriteString(`(regex #"` + string(f) + `")`) }
func (f Vnode) write(w *writer)   { w.WriteString("(vnode-type " + string(f) + ")") }
func (f Not) write(w *writer)     { w.list("require-not", []Filter{f.Filter}) }
func (f All) write(w *writer)     { w.joined("require-all", f) }
func (f Any) write(w *writer)     { w.joined("require-any", f) }

func (w *writer) joined(word string, filters []Filter) {
	if len(filters) == 1 {
		filters[0].write(w)
		return
	}
	w.list(word, filters)
}

func (w *writer) list(word string, filters []Filter) {
	w.WriteString("(" + word)
	for _, f := range filters {
		w.WriteByte(' ')
		f.write(w)
	}
	w.WriteByte(')')
}

// rule writes a rule without the operations that the system does not know. A rule without filters
// matches nothing, and is not written: as text it would match everything.
func (w *writer) rule(r Rule, without []string) {
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
