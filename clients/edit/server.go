package edit

import (
	"slices"
	"strconv"
)

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
	Refused *RefusedError
	// Ambiguous is why clients may read the entry in different ways, or nil. Apply puts no words
	// in front then, and removes them.
	Ambiguous *AmbiguousError

	doubt, unsure *fault
	file          *File
	table         Table
	nested        string
	entry         *node
	command, args *member
}

// A RefusedError reports a change that is not made, and why.
type RefusedError struct {
	Server string
	Line   int // 0 if the reason has no place
	Reason string
	Fix    string // what the user can do; may be empty
}

func (e *RefusedError) Error() string {
	text := "the server " + strconv.Quote(e.Server) + " is not changed: "
	if e.Line != 0 {
		text += "line " + strconv.Itoa(e.Line) + ": "
	}
	text += e.Reason
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// Servers returns the servers of a table in the order of the file. An entry that is no
// table is left out.
func (f *File) Servers(t Table) (servers []Server) {
	t = t.withDefaults()
	f.visit(t.Path, func(path []string, table *node, fault *fault) {
		if t.Single {
			if table.kind == isMap {
				servers = append(servers, newServer(t, "", path, table.line, table, fault))
			}
			return
		}
		duplicates := table.duplicates()
		for i := range table.members {
			m := &table.members[i]
			if m.value.kind != isMap {
				continue
			}
			servers = append(servers, newServer(t, m.key, append(slices.Clone(path), m.key), m.line, m.value, firstFault(fault, duplicates[m.key])))
		}
		for i, item := range table.items {
			if item.kind != isMap {
				continue
			}
			// An entry of a list has its name inside.
			name, twice := item.find("name")
			text, line := "", item.line
			if name != nil {
				text, line = name.value.text, name.line
			}
			servers = append(servers, newServer(t, text, append(slices.Clone(path), strconv.Itoa(i)), line, item, firstFault(fault, twice)))
		}
	})
	for i := range servers {
		s := &servers[i]
		if s.file = f; s.doubt != nil {
			s.Ambiguous = f.ambiguous(max(s.doubt.offset, 0), s.doubt.fix, "%s", s.doubt.reason)
		}
	}
	return servers
}

// Lookup returns the value at a path, and the line of its key: a string, a json.Number (numbers and dates as
// they are spelled), a bool, nil, []any, or map[string]any. An element of a
// path is a key, or the number of an element of a list, from 0.
func (f *File) Lookup(path ...string) (value any, line int, found bool) {
	f.visit(path, func(_ []string, n *node, _ *fault) { value, line, found = n.value(), n.line, true })
	return value, line, found
}

func (t Table) keys() []string {
	return []string{t.Command, t.Args, t.Env, t.Nested, "name", "type", "cwd", "envFile", "disabled", "enabled", "url", "serverUrl", "httpUrl", "uri"}
}

func (t Table) withDefaults() Table {
	for _, d := range []struct {
		name  *string
		value string
	}{{&t.Command, "command"}, {&t.Args, "args"}, {&t.Env, "env"}} {
		if *d.name == "" {
			*d.name = d.value
		}
	}
	return t
}

func (f *File) visit(path []string, each func(path []string, n *node, fault *fault)) {
	var walk func(n *node, done, todo []string, found *fault)
	walk = func(n *node, done, todo []string, found *fault) {
		found = firstFault(found, n.fault)
		if len(todo) == 0 {
			each(done, n, found)
			return
		}
		in := n.indexed()
		step := func(m *member) {
			walk(m.value, append(slices.Clone(done), m.key), todo[1:], firstFault(found, in.duplicates[m.key]))
		}
		if todo[0] == "*" {
			for i := range n.members {
				step(&n.members[i])
			}
		} else {
			for _, i := range in.at[todo[0]] {
				step(&n.members[i])
			}
		}
		// "01" and "+1" are no numbers of elements.
		if i, err := strconv.Atoi(todo[0]); err == nil && i >= 0 && i < len(n.items) && strconv.Itoa(i) == todo[0] {
			walk(n.items[i], append(slices.Clone(done), todo[0]), todo[1:], found)
		}
	}
	if f.root != nil {
		walk(f.root, nil, path, nil)
	}
}

func firstFault(faults ...*fault) *fault {
	for _, f := range faults {
		if f != nil {
			return f
		}
	}
	return nil
}

func newServer(t Table, name string, path []string, line int, entry *node, found *fault) Server {
	s := Server{Name: name, Path: path, Line: line, entry: entry, table: t}
	found = firstFault(found, entry.fault, entry.mergeFault())
	if t.Nested != "" {
		// What decides is in the inner table; the outer one may switch the entry off.
		if m, twice := entry.find(t.Nested); m != nil && m.value.kind == isMap {
			found = firstFault(found, twice, m.value.fault, m.value.mergeFault())
			s.entry, s.nested = m.value, t.Nested
		}
	}
	if s.doubt = firstFault(entry.doubts(t.keys()...), s.entry.ownDoubt(t.keys()...)); found != nil && found.ambiguous {
		s.doubt = found
	}
	found = firstFault(found, s.commandLine(t))
	if s.doubt = firstFault(s.doubt, s.unsure); found != nil {
		s.Refused = &RefusedError{Server: name, Line: found.line, Reason: found.reason, Fix: found.fix}
	}
	return s
}

func (n *node) mergeFault() *fault {
	if n.merge == 0 {
		return nil
	}
	return &fault{line: n.merge, reason: "the merge key << adds fields here, and clients differ in whether they read it", fix: "write the fields out", ambiguous: true, offset: n.mergeAt}
}

func (s *Server) commandLine(t Table) *fault {
	var twice, twiceArgs *fault
	s.command, twice = s.entry.find(t.Command)
	s.args, twiceArgs = s.entry.find(t.Args)
	if s.command == nil {
		return &fault{line: s.Line, reason: "it has no " + t.Command}
	}
	program := s.command.value
	s.unsure = program.unsure
	found := firstFault(twice, twiceArgs, program.fault)
	switch program.kind {
	case isText:
		s.Words = []string{program.text}
	case isList:
		s.List = true
		return firstFault(found, s.appendWords(program, t.Command))
	default:
		return firstFault(found, &fault{line: program.line, reason: t.Command + " is " + program.kind.String() + ", and has to be a string or a list"})
	}
	if s.args == nil {
		return found
	}
	list := s.args.value
	if list.kind != isList {
		return firstFault(found, &fault{line: list.line, reason: t.Args + " is " + list.kind.String() + ", and has to be a list", fix: "write " + t.Args + " as a list"})
	}
	return firstFault(found, list.fault, s.appendWords(list, t.Args))
}

func (s *Server) appendWords(list *node, name string) *fault {
	var found *fault
	for _, item := range list.items {
		s.Words = append(s.Words, item.text)
		s.unsure = firstFault(s.unsure, item.unsure)
		// A client may turn true into True, and 1.0 into 1.
		if item.kind == isBool || item.kind == isScalar && !wholeNumber().MatchString(item.text) {
			s.unsure = firstFault(s.unsure, &fault{line: item.line, offset: item.start, reason: name + " holds " + item.kind.String() + ", which clients write in different ways", fix: "write it as a string", ambiguous: true})
		}
		if item.kind == isList || item.kind == isMap || item.kind == isNull {
			found = firstFault(found, &fault{line: item.line, reason: name + " holds " + item.kind.String() + ", and has to hold strings"})
		}
	}
	if s.List && len(s.Words) == 0 {
		found = firstFault(found, &fault{line: list.line, reason: name + " is empty"})
	}
	return found
}
