package edit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// tomlDepth is the depth at which the parser of go-toml gives up.
const tomlDepth = 10_000

// parseTOML builds the tree of a TOML file. decodeTOML then reads it a second time, and is the
// measure of what a client takes.
func (f *File) parseTOML() (*node, error) {
	root, faults := toml.Parse(f.src, tomlDepth)
	for _, fault := range faults {
		switch {
		case fault.What == toml.Syntax || fault.What == toml.Crash:
			return nil, f.syntax(fault.Line, "%s", fault.Text)
		case fault.What == toml.KeyTwice:
			return nil, f.syntax(fault.Begins, "a key stands for a table and for something else")
		case (fault.What == toml.NotTable || fault.What == toml.NotExtendable) && !holdsTable(fault.Node):
			return nil, f.syntax(fault.Node.Key.Line, "a key stands for a table and for something else")
		}
	}
	if _, err := decodeTOML(f.src); err != nil {
		return nil, f.syntax(lineOf(err), "%s", err)
	}
	for _, fault := range faults {
		switch fault.What {
		case toml.NULInKey, toml.NULInText, toml.BadNumber, toml.BadDate: // the value has its spelling
		default:
			return nil, f.syntax(fault.Line, "parsers differ in how they read a key")
		}
	}
	return f.fromTOML(root, 1, false), nil
}

// holdsTable reports whether a value is a table or a list that ends with one: decodeTOML decides
// whether a key may go through it.
func holdsTable(v *toml.Node) bool {
	return v.Kind == toml.Table || len(v.Items) > 0 && v.Items[len(v.Items)-1].Kind == toml.Table
}

// fromTOML returns the node of a value that is in a line. inline says that the value is part of
// an inline table.
func (f *File) fromTOML(v *toml.Node, line int, inline bool) *node {
	n := &node{kind: isScalar, line: line, start: v.Start, end: v.End, flow: v.Inline}
	switch v.Kind {
	case toml.String:
		n.kind, n.text = isText, v.Text
		if strings.Contains(n.text, "\r\n") && bytes.Contains(f.src[v.Start:v.End], []byte("\r\n")) {
			n.unsure = &fault{line: line, offset: v.Start, reason: "it goes on in another line, and clients differ in how they read its line end", fix: "write it in one line", ambiguous: true}
		}
	case toml.Bool:
		n.kind, n.text = isBool, strconv.FormatBool(v.Bool)
	case toml.Array:
		n.kind = isList
		for _, item := range v.Items {
			n.items = append(n.items, f.fromTOML(item, item.Line, inline))
		}
	case toml.Table:
		n.kind = isMap
		for _, name := range v.Keys {
			value := v.Table[name]
			at, dotted := value.Key, value.Kind == toml.Table && !value.Inline
			n.members = append(n.members, member{
				key: name, line: at.Line, keyStart: at.Start, nameStart: at.NameStart, nameEnd: at.NameEnd,
				lines: dotted || !inline && !v.Inline, value: f.fromTOML(value, at.Line, inline || v.Inline),
			})
		}
	default:
		n.text = strings.TrimSpace(string(f.src[v.Start:v.End]))
	}
	return n
}
