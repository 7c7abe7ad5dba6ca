package edit

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// tomlDepth is the depth at which the parser of go-toml gives up.
const tomlDepth = 10_000

// parseTOML builds the tree of a TOML file.
func (f *File) parseTOML() error {
	if doubt := f.checkText(f.skipped(), len(f.src)); doubt != nil {
		return doubt
	}
	root, faults := toml.Parse(f.src, tomlDepth)
	for _, fault := range faults {
		switch fault.What {
		case toml.NULInKey, toml.NULInText, toml.BadNumber, toml.BadDate: // the value has its spelling
		default:
			return f.syntax(fault.Line, "%s", cmp.Or(fault.Text, "a key stands twice, or for a table and for something else"))
		}
	}
	f.root = f.fromTOML(root, 1, false)
	return nil
}

// fromTOML returns the node of a value. inline says that it is part of an inline table.
func (f *File) fromTOML(v *toml.Node, line int, inline bool) node {
	n := node{kind: isScalar, line: line, start: v.Start, end: v.End, flow: v.Inline}
	switch v.Kind {
	case toml.String:
		n.kind, n.text = isText, v.Text
	case toml.Bool:
		n.kind, n.text = isBool, strconv.FormatBool(v.Bool)
	case toml.Array:
		n.kind = isList
		for _, item := range v.Items {
			n.items = append(n.items, f.fromTOML(item, item.Line, inline))
		}
	case toml.Table:
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
