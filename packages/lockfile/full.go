package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A document builds the tree of a whole TOML file. It stops at the first fault.
type document struct {
	data []byte
	line int
	at   int // the offset that line belongs to
}

// A SyntaxError reports a lock file that cannot be used.
type SyntaxError struct {
	File   string // "" if it is not known
	Line   int    // 0 if the whole file is meant
	Reason string
}

func (e *SyntaxError) Error() string {
	file := e.File
	if file == "" {
		file = FileName
	}
	if e.Line > 0 {
		file = fmt.Sprintf("%s:%d", file, e.Line)
	}
	return file + ": " + e.Reason
}

// mend says what to do about a file that has a fault.
const mend = ". Correct it, or put an older copy in its place; without this file, the newest version of each package is fetched and pinned anew"

func fault(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Reason: fmt.Sprintf(format, args...)}
}

// full parses a file. For a file of another format version, the error is a *VersionError, also if
// the file has faults: in that version, they may be none.
func full(data []byte) (*node, error) {
	root, err := build(data)
	if root != nil && (err == nil || root.table["version"] != nil) {
		if version := checkVersion(root); version != nil {
			return nil, version
		}
	}
	return root, err
}

// build returns the tree of a file, or what was read up to the first fault.
func build(data []byte) (root *node, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 || !utf8.Valid(data) {
		return nil, fault(0, "it is not text in UTF-8")
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		for _, mark := range []string{"<<<<<<< ", "=======", ">>>>>>> "} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return nil, fault(i+1, "a merge left a conflict here; keep one of the two sides, or run mcp-jail install again")
			}
		}
	}
	d := &document{data: append([]byte(nil), data...), line: 1}
	defer func() {
		if r := recover(); r != nil { // the parser is named unstable by its authors
			err = fault(d.line, "it cannot be parsed: %v", r)
		}
	}()
	root = newTable(1)
	var p unstable.Parser
	p.Reset(d.data)
	table := root
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table, err = d.open(root, d.key(e.Key()))
		case unstable.ArrayTable:
			d.key(e.Key())
			err = fault(d.line, "a lock file has no array of tables")
		case unstable.KeyValue:
			err = d.assign(table, e)
		}
		if err != nil {
			return root, err
		}
	}
	if err := p.Error(); err != nil {
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			d.seek(int(p.Range(pe.Highlight).Offset))
		}
		return root, fault(d.line, "it is not valid TOML: %s%s", show.Named(err.Error(), 200), mend)
	}
	return root, nil
}

// seek sets line to that of an offset. Offsets mostly grow.
func (d *document) seek(offset int) {
	if offset < d.at {
		d.line, d.at = 1, 0
	}
	d.line += bytes.Count(d.data[d.at:offset], []byte("\n"))
	d.at = offset
}

func (d *document) key(it unstable.Iterator) (parts []string) {
	for it.Next() {
		d.seek(int(it.Node().Raw.Offset))
		parts = append(parts, string(it.Node().Data))
	}
	return parts
}

// child returns the table under a name, to be extended. It makes the table if there is none.
func (d *document) child(at *node, name string) (*node, error) {
	next := at.table[name]
	if next == nil {
		next = newTable(d.line)
		at.put(name, next)
	}
	if next.kind != isTable || next.inline {
		return nil, fault(d.line, "%s is %s in line %d, and cannot be extended", show.Named(name, 80), next.kind, next.line)
	}
	return next, nil
}

// open makes the table of a heading.
func (d *document) open(at *node, parts []string) (_ *node, err error) {
	for _, name := range parts {
		if at, err = d.child(at, name); err != nil {
			return nil, err
		}
	}
	if at.header || at.dotted {
		return nil, fault(d.line, "the section %s is there twice, first in line %d", show.Named(strings.Join(parts, "."), 120), at.line)
	}
	at.header, at.line = true, d.line
	return at, nil
}

// assign puts a value under a key, which may be dotted.
func (d *document) assign(at *node, e *unstable.Node) (err error) {
	parts := d.key(e.Key())
	for _, name := range parts[:len(parts)-1] {
		fresh := at.table[name] == nil
		if at, err = d.child(at, name); err != nil {
			return err
		}
		if !fresh && !at.dotted {
			return fault(d.line, "%s has a section in line %d, and cannot be extended here", show.Named(name, 80), at.line)
		}
		at.dotted = true
	}
	v, err := d.value(e.Value())
	if err != nil {
		return err
	}
	if name := parts[len(parts)-1]; !at.put(name, v) {
		return fault(d.line, "%s is there twice, first in line %d", show.Named(name, 80), at.table[name].line)
	}
	return nil
}

func (d *document) value(n *unstable.Node) (*node, error) {
	v := &node{line: d.line, kind: isOther, text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		v.kind = isString
	case unstable.Integer:
		v.kind = isInteger
	case unstable.InlineTable:
		v.kind, v.table = isTable, map[string]*node{}
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				if err := d.assign(v, it.Node()); err != nil {
					return nil, err
				}
			}
		}
		v.close()
	}
	return v, nil
}

// close forbids to extend an inline table and the tables in it.
func (n *node) close() {
	if n.kind == isTable && !n.inline {
		n.inline = true
		for _, name := range slices.Clone(n.keys) {
			n.table[name].close()
		}
	}
}
