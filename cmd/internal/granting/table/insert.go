package table

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// A list that grant makes has a blank after its bracket, and one that it only adds to keeps what
// follows the bracket. So remove knows which of them it takes away.

// addTable adds a table with fields to the list of tables at a path.
func (d *document) addTable(path, fields []string, comment string) error {
	list := d.list(path)
	item := "{ " + strings.Join(fields, ", ") + " }"
	switch {
	case list == nil && d.takesHeader(path), list != nil && list.Kind == toml.Array && list.Tables:
		return d.addBlock("[["+spelled(path)+"]]", path, fields, comment)
	case list == nil:
		return d.addKey(path, "[ "+item+" ]")
	case list.Kind == toml.Array:
		return d.addItem(list, item)
	}
	return errForm
}

// addText adds a word to the list of words at a path.
func (d *document) addText(path []string, word string) error {
	list := d.list(path)
	switch {
	case list == nil:
		return d.addKey(path, "[ "+show.TOML(word)+" ]")
	case list.Kind == toml.Array:
		return d.addItem(list, show.TOML(word))
	}
	return errForm
}

// takesHeader reports whether the table or list at a path, which is not there, can have a header.
func (d *document) takesHeader(path []string) bool {
	at, _ := d.root.Find(path)
	return at.Kind == toml.Table && !at.Inline && !at.Dotted()
}

// addKey adds a key with a value, and the tables around it that are not there.
func (d *document) addKey(path []string, value string) error {
	at, rest := d.root.Find(path)
	if len(rest) == 0 || at.Kind != toml.Table {
		return errForm
	}
	switch {
	case at.Inline:
		for i := len(rest) - 1; i > 0; i-- {
			value = "{ " + show.Key(rest[i]) + " = " + value + " }"
		}
		return d.addMember(at, show.Key(rest[0])+" = "+value)
	case at.Dotted():
		return d.addDotted(path, value)
	case len(rest) == 1 && d.header(at) >= 0:
		return d.addLine(at, show.Key(rest[0])+" = "+value)
	}
	table := path[:len(path)-1]
	return d.addBlock("["+spelled(table)+"]", table, []string{show.Key(path[len(path)-1]) + " = " + value}, "")
}

// addMember adds a key to a table in braces.
func (d *document) addMember(at *toml.Node, member string) error {
	if at.Start < 0 || at.End < 0 {
		return errForm
	}
	last := -1
	for _, m := range members(at) {
		last = max(last, m.End)
	}
	if last < 0 {
		return d.change(splice{at.Start + 1, at.Start + 1, " " + member + " "})
	}
	return d.change(splice{last, last, ", " + member})
}

// members returns the values of the keys in braces, in their order. Those of dotted keys are among
// them.
func members(at *toml.Node) (all []*toml.Node) {
	for _, name := range at.Keys {
		if m := at.Table[name]; m.Kind == toml.Table && !m.Inline {
			all = append(all, members(m)...)
		} else {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *toml.Node) int { return a.Start - b.Start })
	return all
}

// addLine adds a line to the block of a table, after the keys that it has.
func (d *document) addLine(at *toml.Node, line string) error {
	i := d.header(at)
	last := d.all[d.blockEnd(i)-1]
	indent, _ := d.indent(last.Start)
	end := d.lineEnd(last.End)
	return d.change(splice{end, end, d.nl + indent + line})
}

// addDotted adds a line after the last one with a key of the same table.
func (d *document) addDotted(path []string, value string) error {
	base, depth := d.root, 0 // the table that the keys are written in
	for at, i := d.root, 0; i < len(path); i++ {
		if at = at.Table[path[i]]; at == nil || at.Dotted() {
			break
		}
		base, depth = at, i+1
	}
	at, rest := d.root.Find(path)
	key := path[depth : len(path)-len(rest)]
	last := -1
	for i, e := range d.all {
		if !e.Header && e.Table == base && len(e.Key) > len(key) && slices.Equal(e.Key[:len(key)], key) {
			last = i
		}
	}
	if last < 0 || !at.Dotted() {
		return errForm
	}
	indent, _ := d.indent(d.all[last].Start)
	end := d.lineEnd(d.all[last].End)
	return d.change(splice{end, end, d.nl + indent + spelled(path[depth:]) + " = " + value})
}

// addBlock adds a header and its fields after the blocks that share most of its path.
func (d *document) addBlock(header string, path, fields []string, comment string) error {
	i, common := -1, 1 // the name of the server at least
	for k, e := range d.all {
		if n := shared(e.Key, path); e.Header && n > common || e.Header && n == common && i >= 0 {
			i, common = k, n
		}
	}
	end, indent, inner, gap := len(strings.TrimRight(string(d.text), " \t\r\n")), "", "", d.nl
	if i >= 0 {
		last := d.all[d.blockEnd(i)-1]
		end = d.lineEnd(last.End)
		indent, _ = d.indent(d.all[i].Start)
		inner, _ = d.indent(last.Start)
		above := d.before(d.all[i].Start)
		for above > 0 && strings.HasPrefix(strings.TrimSpace(string(d.text[d.lineStart(above):above])), "#") {
			above = d.before(above)
		}
		if above > 0 && !d.isBlank(above) && shared(d.all[i].Key, path) == len(path) {
			gap = "" // the tables of the list follow each other without a blank line
		}
	}
	text := gap
	if comment != "" {
		text += d.nl + indent + comment
	}
	text += d.nl + indent + header
	for _, f := range fields {
		text += d.nl + inner + f
	}
	if len(strings.TrimPrefix(string(d.text[:end]), byteOrderMark)) == 0 {
		text = strings.TrimPrefix(text, gap+d.nl) + d.nl
	}
	return d.change(splice{end, end, text})
}

func shared(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// addItem adds an item to a list in brackets, at its end.
func (d *document) addItem(list *toml.Node, item string) error {
	if list.Start < 0 || list.End < 0 || list.Tables {
		return errForm
	}
	if len(list.Items) == 0 {
		return d.change(splice{list.Start + 1, list.Start + 1, item})
	}
	last := list.Items[len(list.Items)-1]
	if last.Start < 0 || last.End < 0 {
		return errForm
	}
	comma := d.comma(last.End, list.End-1)
	indent, alone := d.indent(last.Start)
	switch {
	case alone && comma >= 0: // each item has its line, and the last one a comma
		end := d.lineEnd(comma)
		if end > list.End-1 {
			end = comma + 1
		}
		return d.change(splice{end, end, d.nl + indent + item + ","})
	case alone:
		end := d.lineEnd(last.End)
		if end > list.End-1 {
			end = last.End
		}
		return d.change(splice{last.End, last.End, ","}, splice{end, end, d.nl + indent + item})
	case comma >= 0:
		return d.change(splice{comma + 1, comma + 1, " " + item + ","})
	}
	return d.change(splice{last.End, last.End, ", " + item})
}

// comma returns the place of the comma between two places, outside of comments, or -1.
func (d *document) comma(from, to int) int {
	for i := from; i < to; i++ {
		switch d.text[i] {
		case '#':
			i = d.lineEnd(i)
		case ',':
			return i
		}
	}
	return -1
}
