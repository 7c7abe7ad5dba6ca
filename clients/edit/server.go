package edit

import (
	"cmp"
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
