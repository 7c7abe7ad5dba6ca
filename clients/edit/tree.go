package edit

import (
	"encoding/json"
	"slices"
	"strconv"
)

// A node is a value of a file with its place: the same tree for each format.
type node struct {
	kind       kind
	line       int
	start, end int    // end is -1 if the spelling is not one run of bytes that may be moved
	text       string // of a text: decoded; of another scalar: its spelling
	items      []node
	members    []member
	flow       bool   // a list that is between brackets
	plain      bool   // a scalar of YAML without quotes
	doubt      *Fault // why clients may differ about this value
}

// A member is a key with its value. In a dotted key of TOML, key is its last part.
type member struct {
	start      int // where the whole key begins
	key, value node
	lines      bool   // it is on lines of its own, and no comma follows
	twice      *Fault // the key stands there twice
}

type kind byte

const (
	isText kind = iota + 1
	isScalar
	isBool
	isNull
	isList
	isMap
	isAlias
)

func (k kind) String() string {
	return [...]string{"nothing", "a string", "a number", "a boolean", "null", "a list", "a table", "an alias"}[k]
}

func (n *node) fault(reason, fix string) *Fault {
	return &Fault{Line: n.line, offset: n.start, Reason: reason, Fix: fix}
}

// findTwice marks the keys that a table has twice.
func (n *node) findTwice() {
	if len(n.members) < 2 {
		return
	}
	last := make(map[string]int, len(n.members))
	for i := range n.members {
		m := &n.members[i]
		if before, twice := last[m.key.text]; twice {
			m.twice = m.fault("the key "+strconv.Quote(m.key.text)+" stands twice, also in line "+strconv.Itoa(n.members[before].key.line)+", and clients differ in which of the two they use", "remove one of them")
			n.members[before].twice = m.twice
		}
		last[m.key.text] = i
	}
}

func (m *member) fault(reason, fix string) *Fault {
	return &Fault{Line: m.key.line, offset: m.start, Reason: reason, Fix: fix}
}

// find returns the last member of that name, or nil.
func (n *node) find(key string) *member {
	for i := range slices.Backward(n.members) {
		if n.members[i].key.text == key {
			return &n.members[i]
		}
	}
	return nil
}

// each calls a function for each value at a path. twice is why a key on the way to it is not clear, or nil.
func (n *node) each(path, at []string, line int, twice *Fault, do func(at []string, n *node, line int, twice *Fault)) {
	if len(path) == 0 {
		do(at, n, line, twice)
		return
	}
	for i := range n.members {
		if m := &n.members[i]; path[0] == "*" || path[0] == m.key.text {
			m.value.each(path[1:], append(slices.Clip(at), m.key.text), m.key.line, first(twice, m.twice), do)
		}
	}
	// "01" and "+1" are no numbers of elements.
	if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(n.items) && strconv.Itoa(i) == path[0] {
		n.items[i].each(path[1:], append(slices.Clip(at), path[0]), n.items[i].line, twice, do)
	}
}

func first(faults ...*Fault) *Fault {
	for _, f := range faults {
		if f != nil {
			return f
		}
	}
	return nil
}

// Lookup returns the value at a path, and its line: a string, a json.Number (numbers and dates as they are
// spelled), a bool, nil, []any, or map[string]any. An element of a path is a key, or the number of an
// element of a list, from 0.
func (f *File) Lookup(path ...string) (value any, line int, found bool) {
	f.root.each(path, nil, f.root.line, nil, func(_ []string, n *node, at int, _ *Fault) {
		value, line, found = n.value(), at, n.kind != 0
	})
	return value, line, found
}

func (n *node) value() any {
	switch n.kind {
	case isText:
		return n.text
	case isScalar:
		return json.Number(n.text)
	case isBool:
		return n.text == "true"
	case isList:
		list := make([]any, len(n.items))
		for i := range n.items {
			list[i] = n.items[i].value()
		}
		return list
	case isMap:
		table := make(map[string]any, len(n.members))
		for i := range n.members {
			table[n.members[i].key.text] = n.members[i].value.value()
		}
		return table
	}
	return nil
}
