package edit

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML builds the tree of a TOML file from the ranges of go-toml's parser. decodeTOML then
// finds tables that are defined twice.
func (f *File) parseTOML() (*node, error) {
	b := &tomlBuilder{file: f, skipped: f.skipped(), lines: lineCounter{src: f.src}, index: map[tomlKey]int{}}
	root := &node{kind: isMap, line: 1}
	p := &b.parser
	p.Reset(f.text())
	for table := root; p.NextExpression(); {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = b.table(root, e)
		case unstable.KeyValue:
			b.keyValue(table, e, true)
		}
		if b.clash != 0 {
			return nil, f.syntax(b.clash, "a key stands for a table and for something else")
		}
	}
	if err := p.Error(); err != nil {
		line := 0
		if e := (*unstable.ParserError)(nil); errors.As(err, &e) && len(e.Highlight) > 0 {
			line = p.Shape(p.Range(e.Highlight)).Start.Line
		}
		return nil, f.syntax(line, "%s", err)
	}
	if _, err := decodeTOML(f.src); err != nil {
		return nil, f.syntax(lineOf(err), "%s", err)
	}
	return root, nil
}

type tomlBuilder struct {
	file    *File
	parser  unstable.Parser
	skipped int
	lines   lineCounter
	index   map[tomlKey]int // of the members of tables
	clash   int             // the line of a key that cannot stand there
}

type tomlKey struct {
	table *node
	key   string
}

func (b *tomlBuilder) find(at *node, key *unstable.Node) *member {
	if i, ok := b.index[tomlKey{at, string(key.Data)}]; ok {
		return &at.members[i]
	}
	return nil
}

// place returns the range of a node in the file.
func (b *tomlBuilder) place(r unstable.Range) (start, end int) {
	return int(r.Offset) + b.skipped, int(r.Offset+r.Length) + b.skipped
}

// table returns the table that a header opens.
func (b *tomlBuilder) table(root *node, e *unstable.Node) *node {
	at := root
	for it := e.Key(); it.Next(); {
		key := it.Node()
		if e.Kind == unstable.ArrayTable && it.IsLast() {
			return b.element(at, key)
		}
		at = b.child(at, key)
	}
	return at
}

// element adds a table to a list of tables.
func (b *tomlBuilder) element(at *node, key *unstable.Node) *node {
	m := b.find(at, key)
	if m == nil {
		m = b.member(at, key)
		m.value = &node{kind: isList, line: m.line, start: m.keyStart, end: -1}
	}
	table := &node{kind: isMap, line: b.member(&node{}, key).line}
	m.value.items = append(m.value.items, table)
	return table
}

// child returns the table of that name, or the last one of a list of tables.
func (b *tomlBuilder) child(at *node, key *unstable.Node) *node {
	m := b.find(at, key)
	if m == nil {
		m = b.member(at, key)
		m.value = &node{kind: isMap, line: m.line, start: m.keyStart, end: -1}
	}
	switch v := m.value; {
	case v.kind == isMap:
		return v
	case v.kind == isList && len(v.items) > 0 && v.items[len(v.items)-1].kind == isMap:
		return v.items[len(v.items)-1]
	}
	b.clash = max(1, b.lines.at(m.keyStart))
	return &node{kind: isMap}
}

func (b *tomlBuilder) member(at *node, key *unstable.Node) *member {
	start, end := b.place(key.Raw)
	b.index[tomlKey{at, string(key.Data)}] = len(at.members)
	at.members = append(at.members, member{key: string(key.Data), line: b.lines.at(start), keyStart: start, nameStart: start, nameEnd: end, lines: true})
	return &at.members[len(at.members)-1]
}

// keyValue adds a key, which may be dotted, and its value to a table.
func (b *tomlBuilder) keyValue(at *node, e *unstable.Node, lines bool) {
	whole, end := b.place(e.Raw)
	for it := e.Key(); it.Next(); {
		if !it.IsLast() {
			at = b.child(at, it.Node())
			continue
		}
		if b.find(at, it.Node()) != nil {
			b.clash = b.lines.at(whole)
			return
		}
		m := b.member(at, it.Node())
		m.keyStart, m.lines = whole, lines
		start := end - len(bytes.TrimLeft(b.file.src[m.nameEnd:end], " \t="))
		end = start + len(bytes.TrimRight(b.file.src[start:end], " \t"))
		m.value = b.value(e.Value(), start, end)
	}
}

// value returns the node of a value at a place of the file. The parser does not tell the
// place of a list in a list: start is -1 there.
func (b *tomlBuilder) value(v *unstable.Node, start, end int) *node {
	n := &node{kind: isScalar, line: b.lines.line, start: start, end: end, flow: true}
	if start >= 0 {
		n.line = b.lines.at(start)
	}
	switch v.Kind {
	case unstable.String:
		n.kind, n.text = isText, string(v.Data)
		if start >= 0 && strings.Contains(n.text, "\r\n") && bytes.Contains(b.file.src[start:end], []byte("\r\n")) {
			n.unsure = &fault{line: n.line, offset: start, reason: "it goes on in another line, and clients differ in how they read its line end", fix: "write it in one line", ambiguous: true}
		}
	case unstable.Bool:
		n.kind, n.text = isBool, string(v.Data)
	case unstable.Array:
		n.kind = isList
		for it := v.Children(); it.Next(); {
			start, end := b.place(it.Node().Raw)
			if it.Node().Kind == unstable.Array {
				start, end = -1, -1
			}
			n.items = append(n.items, b.value(it.Node(), start, end))
		}
	case unstable.InlineTable:
		n.kind = isMap
		for it := v.Children(); it.Next(); {
			b.keyValue(n, it.Node(), false)
		}
	default:
		n.text = strings.TrimSpace(string(b.file.src[start:end]))
	}
	return n
}
