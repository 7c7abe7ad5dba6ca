package table

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// removeItem removes an item of the list at a path, and a comment before it. If that was the last one,
// it removes the list too where grant made it.
func (d *document) removeItem(path []string, i int, comment string) error {
	list := d.list(path)
	switch {
	case list == nil || list.Kind != toml.Array || i >= len(list.Items):
		return errForm
	case list.Tables:
		return d.removeBlock(list.Items[i], comment)
	case list.Start < 0 || list.Items[i].Start < 0 || list.Items[i].End < 0:
		return errForm
	}
	item := list.Items[i]
	if len(list.Items) == 1 {
		made := string(d.text[list.Start:list.End]) == "[ "+string(d.text[item.Start:item.End])+" ]"
		if at, rest := d.root.Find(path); made && len(rest) == 0 && at == list {
			return d.removeKey(path)
		}
		end := item.End
		if comma := d.comma(end, list.End-1); comma >= 0 {
			end = comma + 1
		}
		return d.change(splice{item.Start, end, ""})
	}
	_, alone := d.indent(item.Start)
	own := d.comma(item.End, d.next(list, i))
	end := max(item.End, own+1)
	switch {
	case i < len(list.Items)-1 && alone && d.lineEnd(end) < list.Items[i+1].Start:
		return d.change(splice{d.before(item.Start), d.lineEnd(end), ""})
	case i < len(list.Items)-1:
		return d.change(splice{item.Start, list.Items[i+1].Start, ""})
	}
	previous := list.Items[i-1].End
	comma := d.comma(previous, item.Start)
	switch {
	case previous < 0 || comma < 0:
		return errForm
	case !alone && own >= 0:
		return d.change(splice{comma + 1, end, ""})
	case !alone:
		return d.change(splice{comma, end, ""})
	}
	whole := splice{d.before(item.Start), end, ""}
	if line := d.lineEnd(end); line < list.End-1 {
		whole.end = line
	}
	if own >= 0 {
		return d.change(whole)
	}
	return d.change(splice{comma, comma + 1, ""}, whole)
}

// next returns where the gap after an item of a list ends.
func (d *document) next(list *toml.Node, i int) int {
	if i+1 < len(list.Items) {
		return list.Items[i+1].Start
	}
	return list.End - 1
}

// removeBlock removes a table with its header, and a comment before it.
func (d *document) removeBlock(table *toml.Node, comment string) error {
	i := d.header(table)
	if i < 0 {
		return errForm
	}
	first, last := d.all[i], d.all[d.blockEnd(i)-1]
	from := d.before(first.Start)
	if from > 0 && comment != "" && strings.TrimSpace(string(d.text[d.lineStart(from):from])) == comment {
		from = d.before(from)
	}
	if from > 0 && d.isBlank(from) {
		from = d.before(from)
	}
	if from < 0 {
		from = d.lineStart(0)
	}
	return d.change(splice{from, d.lineEnd(last.End), ""})
}

// removeKey removes the key at a path with its value.
func (d *document) removeKey(path []string) error {
	at, rest := d.root.Find(path)
	around, _ := d.root.Find(path[:len(path)-1])
	if len(rest) > 0 || at.Start < 0 || at.End < 0 || at.Tables {
		return errForm
	}
	if around.Inline {
		return d.removeMember(around, at)
	}
	from := d.before(at.Key.Start)
	if from < 0 {
		return errForm
	}
	return d.change(splice{from, d.lineEnd(at.End), ""})
}

// removeMember removes a key from a table in braces.
func (d *document) removeMember(table, value *toml.Node) error {
	all := members(table)
	i := slices.Index(all, value)
	switch {
	case i < 0 || value.End < 0:
		return errForm
	case i > 0:
		return d.change(splice{all[i-1].End, value.End, ""})
	case len(all) > 1:
		return d.change(splice{value.Key.Start, all[1].Key.Start, ""})
	}
	start, end := value.Key.Start, value.End
	if d.text[start-1] == ' ' && d.text[end] == ' ' && start-1 > table.Start && end < table.End-1 {
		start, end = start-1, end+1
	}
	return d.change(splice{start, end, ""})
}
