package edit

import (
	"encoding/json"
	"strconv"
)

// A node is a value of the file with its place. An alias of YAML has a node of its own,
// with the members of the value that it stands for and a fault.
type node struct {
	kind       kind
	line       int
	start, end int    // end is -1 if the spelling is not one run of bytes that may be moved
	text       string // of a text: decoded; of another scalar: its spelling
	items      []*node
	members    []member
	flow       bool   // a list that is between brackets
	plain      bool   // a YAML scalar without quotes
	fault      *fault // why this value must not be changed
	doubt      *fault // why clients may differ about this value
	unsure     *fault // the same, if it is a word of a command line
	merge      int    // the line of a merge key of YAML, or 0
	mergeAt    int    // its offset
	index      *index // see indexed
}

// An index finds the members of a table that has many.
type index struct {
	at         map[string][]int // the members of each name
	duplicates map[string]*fault
}

// indexed returns the index of a value whose members do not change any more.
func (n *node) indexed() *index {
	if n.index == nil {
		n.index = &index{make(map[string][]int, len(n.members)), n.duplicates()}
		for i, m := range n.members {
			n.index.at[m.key] = append(n.index.at[m.key], i)
		}
	}
	return n.index
}

type kind byte

const (
	isText kind = iota + 1
	isScalar
	isBool
	isNull
	isList
	isMap
)

func (k kind) String() string {
	return [...]string{"nothing", "a string", "a number", "a boolean", "null", "a list", "a table"}[k]
}

// A member is a key with its value. keyStart is where the key begins; in a dotted key of
// TOML, name is the place of its last part.
type member struct {
	key                          string
	line                         int
	keyStart, nameStart, nameEnd int
	lines                        bool // it is on lines of its own, and no comma follows
	value                        *node
	doubt                        *fault // why clients may differ about the key
	unsure                       *fault // the same, if it is no name of a server
}

// A fault says why a value must not be changed.
type fault struct {
	line        int
	reason, fix string
	ambiguous   bool // clients may differ about what the file says
	offset      int  // if ambiguous: where
}

// find returns the last member of that name, and a fault if there are several.
func (n *node) find(key string) (found *member, twice *fault) {
	for i := range n.members {
		m := &n.members[i]
		if m.key != key {
			continue
		}
		if found != nil {
			twice = standsTwice(found, m)
		}
		found = m
	}
	return found, twice
}

func (n *node) duplicates() map[string]*fault {
	last, faults := make(map[string]*member, len(n.members)), map[string]*fault{}
	for i := range n.members {
		m := &n.members[i]
		if before := last[m.key]; before != nil {
			faults[m.key] = standsTwice(before, m)
		}
		last[m.key] = m
	}
	return faults
}

func standsTwice(a, b *member) *fault {
	return b.fault("the key "+strconv.Quote(b.key)+" stands twice, also in line "+strconv.Itoa(a.line)+", and clients differ in which of the two they use", "remove one of them")
}

// value returns what the node says: string, json.Number (every number and date, as it is
// spelled), bool, nil, []any or map[string]any.
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
		for i, item := range n.items {
			list[i] = item.value()
		}
		return list
	case isMap:
		table := make(map[string]any, len(n.members))
		for _, m := range n.members {
			table[m.key] = m.value.value()
		}
		return table
	}
	return nil
}
