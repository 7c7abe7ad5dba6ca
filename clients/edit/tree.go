package edit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
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
			m.twice = m.fault("the key "+strconv.Quote(m.key.text)+" is there twice, also in line "+strconv.Itoa(n.members[before].key.line)+", and clients differ in which of the two they use", "remove one of them")
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

// tomlDepth is the depth at which the parser of go-toml gives up.
const tomlDepth = 10_000

// parseTOML builds the tree of a TOML file.
func (f *File) parseTOML() error {
	if doubt := f.checkText(f.skipped(), len(f.src)); doubt != nil {
		return doubt
	}
	root, faults := show.Parse(f.src, tomlDepth)
	for _, fault := range faults {
		switch fault.What {
		case show.NULInKey, show.NULInText, show.BadNumber, show.BadDate: // the value has its spelling
		default:
			return f.syntax(fault.Line, "%s", cmp.Or(fault.Text, "a key is there twice, or for a table and for something else"))
		}
	}
	f.root = f.fromTOML(root, 1, false)
	return nil
}

// fromTOML returns the node of a value. inline says that it is part of an inline table.
func (f *File) fromTOML(v *show.Node, line int, inline bool) node {
	n := node{kind: isScalar, line: line, start: v.Start, end: v.End, flow: v.Inline}
	switch v.Kind {
	case show.String:
		n.kind, n.text = isText, v.Text
	case show.Bool:
		n.kind, n.text = isBool, strconv.FormatBool(v.Bool)
	case show.Array:
		n.kind = isList
		for _, item := range v.Items {
			n.items = append(n.items, f.fromTOML(item, item.Line, inline))
		}
	case show.Table:
		n.kind, inline = isMap, inline || v.Inline
		for _, name := range v.Keys {
			at := v.Table[name].Key
			key := node{kind: isText, text: name, line: at.Line, start: at.NameStart, end: at.NameEnd}
			n.members = append(n.members, member{start: at.Start, key: key, lines: !inline, value: f.fromTOML(v.Table[name], at.Line, inline)})
		}
	default:
		n.text = strings.TrimSpace(string(f.src[v.Start:v.End]))
	}
	return n
}

// A Table says where a file keeps servers, and how their fields are named.
type Table struct {
	// Path leads from the root to the table. An element "*" stands for every key. An
	// empty path is the root itself. The table is a map from names to servers, or a
	// list of servers with a field "name".
	Path []string
	// The names of the fields of an entry. Empty names mean command, args, env.
	Command, Args, Env string
	// Nested names a table inside an entry that holds these fields instead when it is
	// there ("transport" of Cline).
	Nested string
	// Single reports that the value at Path is itself an entry.
	Single bool
}

// A Server is an entry of a table.
type Server struct {
	Name string   // "" in a list whose entry has none
	Path []string // of the entry; in a list the last element is a number
	Line int      // of its name

	Words []string // its command line; empty if it has none; a number as it is spelled
	List  bool     // the command line is one list
	// Refused is why the command line cannot be changed, or nil. Apply may refuse a
	// change for more reasons.
	Refused *Fault
	// Ambiguous is why clients may read the entry in different ways, or nil. Apply puts no words
	// in front then, and removes them.
	Ambiguous *Fault

	file          *File
	table         Table
	nested        string // Table.Nested, if the entry has it
	command, args *member
}

// Servers returns the servers of a table in the order of the file. An entry that is no
// table is left out.
func (f *File) Servers(t Table) (servers []Server) {
	t.Command, t.Args, t.Env = cmp.Or(t.Command, "command"), cmp.Or(t.Args, "args"), cmp.Or(t.Env, "env")
	add := func(name string, path []string, line int, entry *node, doubt *Fault) {
		if entry.kind == isMap || entry.kind == isAlias {
			servers = append(servers, f.server(Server{Name: name, Path: path, Line: line, file: f, table: t}, entry, doubt))
		}
	}
	f.root.each(t.Path, nil, 0, nil, func(path []string, table *node, _ int, twice *Fault) {
		if t.Single {
			add("", path, table.line, table, twice)
			return
		}
		for i := range table.members {
			m := &table.members[i]
			add(m.key.text, append(slices.Clip(path), m.key.text), m.key.line, &m.value, first(twice, m.twice))
		}
		for i := range table.items {
			// An entry of a list has its name inside.
			name, line, item := "", table.items[i].line, &table.items[i]
			if m := item.find("name"); m != nil {
				name, line = m.value.text, m.key.line
			}
			add(name, append(slices.Clip(path), strconv.Itoa(i)), line, item, twice)
		}
	})
	return servers
}

// server reads the command line of an entry.
func (f *File) server(s Server, entry *node, doubt *Fault) Server {
	known := []string{s.table.Command, s.table.Args, s.table.Env, s.table.Nested, "name", "type", "cwd", "envFile", "disabled", "enabled", "url", "serverUrl", "httpUrl", "uri"}
	doubt, inner := first(doubt, f.doubts(entry, known...)), entry
	if m := entry.find(s.table.Nested); s.table.Nested != "" && m != nil && m.value.kind == isMap {
		// What decides is in the inner table; the outer one may switch the entry off.
		inner, s.nested, doubt = &m.value, s.table.Nested, first(doubt, f.ownDoubt(&m.value, known...))
	}
	s.command, s.args = inner.find(s.table.Command), inner.find(s.table.Args)
	var unsure *Fault
	s.Refused, unsure = s.commandLine()
	if doubt = first(doubt, unsure); doubt != nil {
		s.Ambiguous = f.placed(doubt)
	}
	return s
}

// commandLine reads the words. It returns why they cannot be changed, and why clients may differ about them.
func (s *Server) commandLine() (refused, unsure *Fault) {
	if s.command == nil {
		return &Fault{Line: s.Line, Reason: "it has no " + s.table.Command}, nil
	}
	words, name := &s.command.value, s.table.Command
	switch {
	case words.kind == isList:
		if s.List = true; len(words.items) == 0 {
			return words.fault(name+" is empty", ""), nil
		}
	case words.kind != isText:
		return words.fault(name+" is "+words.kind.String()+", and has to be a string or a list", ""), nil
	default:
		s.Words, unsure = []string{words.text}, s.file.wordDoubt(words)
		if s.args == nil {
			return nil, unsure
		}
		if words, name = &s.args.value, s.table.Args; words.kind != isList {
			return words.fault(name+" is "+words.kind.String()+", and has to be a list", "write "+name+" as a list"), unsure
		}
	}
	for i := range words.items {
		item := &words.items[i]
		s.Words = append(s.Words, item.text)
		unsure = first(unsure, s.file.wordDoubt(item))
		switch item.kind {
		case isBool, isScalar: // a client may turn true into True, and 1.0 into 1
			if item.kind == isBool || !wholeNumber().MatchString(item.text) {
				unsure = first(unsure, item.fault(name+" holds "+item.kind.String()+", which clients write in different ways", "write it as a string"))
			}
		case isText:
		default:
			refused = first(refused, item.fault(name+" holds "+item.kind.String()+", and has to hold strings", ""))
		}
	}
	return refused, unsure
}
