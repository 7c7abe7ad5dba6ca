package config

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/pelletier/go-toml/v2/unstable"
)

const (
	maxFileSize = 1 << 20 // docs/reference.md "Configuration"
	maxDepth    = 16      // of nested tables and arrays, and of the parts of a key
)

// A node is one value of a TOML document with its line. Every problem must name file, line
// and key, but the parser's own decoder only keeps the lines of type errors.
type node struct {
	kind  nodeKind
	line  int
	text  string // string value
	num   int64
	flag  bool
	keys  []string // of a table, in order of appearance
	table map[string]*node
	items []*node
	// header: opened by [header]; closed: an inline table or array, which may
	// not be extended; dotted: made by a dotted key; tables: an array of tables.
	header, closed, dotted, tables bool

	shape *Shape // of a node without content, in which the decoder notes what it accepts
}

type nodeKind uint8

const (
	nodeTable nodeKind = iota + 1
	nodeArray
	nodeString
	nodeInteger
	nodeBool
	nodeFloat
	nodeDate
)

func (k nodeKind) String() string {
	switch k {
	case nodeTable:
		return "a table"
	case nodeArray:
		return "an array"
	case nodeString:
		return "a string"
	case nodeInteger:
		return "an integer"
	case nodeBool:
		return "true or false"
	case nodeFloat:
		return "a number with a fraction"
	case nodeDate:
		return "a date or time"
	}
	return "nothing"
}

// A document parses one TOML file into a tree of nodes. It never panics, and its work is
// linear in the size of any data.
type document struct {
	file     string
	newlines []int // offsets, for lines
	problems policy.Problems
	line     int
}

func parseDocument(data []byte, file string) (root *node, problems policy.Problems) {
	d := &document{file: file, line: 1}
	root = &node{kind: nodeTable, line: 1, table: map[string]*node{}, header: true}
	if len(data) > maxFileSize {
		d.add(0, "", "is %d bytes; a configuration of more than %d bytes is refused", len(data), maxFileSize)
		return root, d.problems
	}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff")) // a copy with its own capacity: the parser measures offsets by it
	for i, c := range data {
		if c == '\n' {
			d.newlines = append(d.newlines, i)
		}
	}
	if i := invalidUTF8(data); i >= 0 {
		d.add(d.lineAt(i), "", "is not valid UTF-8 (byte 0x%02x)", data[i])
		return root, d.problems
	}
	if i := strings.IndexByte(string(data), 0); i >= 0 {
		d.add(d.lineAt(i), "", "contains a NUL byte")
		return root, d.problems
	}
	d.parse(data, root)
	return root, d.problems
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func (d *document) lineAt(offset int) int { return sort.SearchInts(d.newlines, offset) + 1 }

func (d *document) add(line int, key, format string, args ...any) {
	// A hostile file can be wrong once per byte; Problems.Err cuts the list further.
	if len(d.problems) < 10*policy.MaxProblems {
		d.problems = append(d.problems, policy.Problem{File: d.file, Line: line, Key: key, Message: fmt.Sprintf(format, args...)})
	}
}

func (d *document) parse(data []byte, root *node) {
	defer func() {
		if r := recover(); r != nil { // the parser is named unstable by its authors
			d.add(d.line, "", "cannot be parsed: %v", r)
		}
	}()
	var p unstable.Parser
	p.Reset(data)
	current, path := root, []string(nil)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			parts, ok := d.key(e.Key(), nil)
			path = parts
			current = nil // after a bad header its keys have no place
			if ok {
				current = d.open(root, parts, e.Kind == unstable.ArrayTable)
			}
		case unstable.KeyValue:
			parts, ok := d.key(e.Key(), path)
			if ok && current != nil {
				d.assign(current, path, parts, d.value(e.Value(), append(path[:len(path):len(path)], parts...), 1))
			}
		}
	}
	if err := p.Error(); err != nil {
		line := d.line
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			line = d.lineAt(int(p.Range(pe.Highlight).Offset))
		}
		d.add(line, "", "is not valid TOML: %s", err)
	}
}

func (d *document) key(it unstable.Iterator, prefix []string) (parts []string, ok bool) {
	for it.Next() {
		n := it.Node()
		d.line = d.lineAt(int(n.Raw.Offset))
		parts = append(parts, string(n.Data))
		if len(prefix)+len(parts) > maxDepth {
			d.add(d.line, "", "the key has more than %d parts", maxDepth)
			return parts, false
		}
		if strings.ContainsRune(parts[len(parts)-1], 0) {
			d.add(d.line, "", "the key contains a NUL")
			return parts, false
		}
	}
	return parts, true
}

// open finds or makes the table of a [header] or [[header]].
func (d *document) open(root *node, parts []string, array bool) *node {
	at := root
	for i, part := range parts {
		last := i == len(parts)-1
		next := at.table[part]
		switch {
		case next == nil:
			next = &node{kind: nodeTable, line: d.line, table: map[string]*node{}, header: last && !array}
			child := next
			if last && array {
				child = &node{kind: nodeArray, line: d.line, tables: true, items: []*node{next}}
			}
			at.keys = append(at.keys, part)
			at.table[part] = child
		case last && array:
			if next.kind != nodeArray || !next.tables {
				d.add(d.line, policy.JoinKey(parts), "[[%s]] is already defined in line %d, and not as an array of tables", policy.JoinKey(parts), next.line)
				return nil
			}
			table := &node{kind: nodeTable, line: d.line, table: map[string]*node{}}
			next.items = append(next.items, table)
			next = table
		case next.kind == nodeArray && next.tables && !last:
			next = next.items[len(next.items)-1]
		case next.kind != nodeTable || next.closed:
			d.add(d.line, policy.JoinKey(parts), "[%s] cannot be a table: %s is %s in line %d", policy.JoinKey(parts), policy.JoinKey(parts[:i+1]), closedKind(next), next.line)
			return nil
		case last && (next.header || next.dotted):
			d.add(d.line, policy.JoinKey(parts), "[%s] is defined twice, first in line %d", policy.JoinKey(parts), next.line)
			return nil
		case last:
			next.header = true
			next.line = d.line
		}
		at = next
	}
	return at
}

func closedKind(n *node) string {
	if n.kind == nodeTable {
		return "an inline table"
	}
	return n.kind.String()
}

// assign puts a value under a key, which may be dotted.
func (d *document) assign(at *node, path, parts []string, value *node) {
	full := append(path[:len(path):len(path)], parts...)
	for i, part := range parts[:len(parts)-1] {
		next := at.table[part]
		switch {
		case next == nil:
			next = &node{kind: nodeTable, line: d.line, table: map[string]*node{}, dotted: true}
			at.keys = append(at.keys, part)
			at.table[part] = next
		case next.kind != nodeTable || next.closed || next.header:
			d.add(d.line, policy.JoinKey(full), "%s cannot be extended here: it is defined in line %d", policy.JoinKey(full[:len(path)+i+1]), next.line)
			return
		}
		at = next
	}
	name := parts[len(parts)-1]
	if before := at.table[name]; before != nil {
		d.add(d.line, policy.JoinKey(full), "%s is given twice, first in line %d", policy.JoinKey(full), before.line)
		return
	}
	at.keys = append(at.keys, name)
	at.table[name] = value
}

func (d *document) value(n *unstable.Node, path []string, depth int) *node {
	if n.Raw.Length > 0 && n.Raw.Offset > 0 {
		d.line = d.lineAt(int(n.Raw.Offset))
	}
	v := &node{line: d.line}
	if depth > maxDepth {
		d.add(d.line, policy.JoinKey(path), "arrays and tables are nested more than %d deep", maxDepth)
		v.kind = nodeArray
		return v
	}
	switch n.Kind {
	case unstable.String:
		v.kind, v.text = nodeString, string(n.Data)
		if strings.ContainsRune(v.text, 0) {
			d.add(d.line, policy.JoinKey(path), "contains a NUL")
		}
	case unstable.Bool:
		v.kind, v.flag = nodeBool, string(n.Data) == "true"
	case unstable.Integer:
		v.kind = nodeInteger
		i, err := strconv.ParseInt(strings.ReplaceAll(string(n.Data), "_", ""), 0, 64)
		if err != nil {
			d.add(d.line, policy.JoinKey(path), "the number %s is out of range", policy.Abbreviate(string(n.Data)))
		}
		v.num = i
	case unstable.Float:
		v.kind = nodeFloat
	case unstable.Array:
		v.kind, v.closed = nodeArray, true
		for it := n.Children(); it.Next(); {
			v.items = append(v.items, d.value(it.Node(), path, depth+1))
		}
	case unstable.InlineTable:
		v.kind, v.table = nodeTable, map[string]*node{}
		for it := n.Children(); it.Next(); {
			kv := it.Node()
			if kv.Kind != unstable.KeyValue {
				continue
			}
			parts, ok := d.key(kv.Key(), path)
			if ok {
				d.assign(v, path, parts, d.value(kv.Value(), append(path[:len(path):len(path)], parts...), depth+1))
			}
		}
		v.closed = true
	default:
		v.kind = nodeDate
		if !isDateTime(string(n.Data)) { // the parser takes any digits
			d.add(d.line, policy.JoinKey(path), "%s is not a date or time", policy.Abbreviate(string(n.Data)))
		}
	}
	return v
}
