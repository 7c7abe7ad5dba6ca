package clients

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients/edit"
)

// items returns the entries of a file in its order.
func items(t *testing.T, p Place, file string, src []byte) (out []Item) {
	t.Helper()
	f, err := edit.Parse(edit.FormatOf(file), src)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	tables := p.Tables
	for _, table := range append(tables[:len(tables):len(tables)], Table{}) {
		if len(table.Path) == 0 && (len(out) > 0 || !p.Bare && !p.Single) {
			continue
		}
		for _, s := range f.Servers(edit.Table{Path: table.Path, Single: p.Single && len(table.Path) == 0}) {
			value, _, _ := f.Lookup(s.Path...)
			item := Item{Table: table, Path: s.Path, Line: s.Line, Value: value}
			if len(s.Path) == 0 {
				item.Table.Single, item.Name = true, "x"
			}
			out = append(out, item)
		}
	}
	return out
}

// excerpt returns the lines of the entry that begins at a line, without their indentation.
func excerpt(p Place, src string, line int) string {
	lines := strings.Split(src, "\n")[line-1:]
	indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }
	end := 1
	switch p.Format {
	case TOML:
		for end < len(lines) && lines[end] != "" && lines[end][0] != '[' {
			end++
		}
	case YAML:
		for end < len(lines) && indent(lines[end]) > indent(lines[0]) {
			end++
		}
	default:
		depth := func(s string) int { return strings.Count(s, "{") - strings.Count(s, "}") }
		for open := depth(lines[0]); open > 0 && end < len(lines); end++ {
			open += depth(lines[end])
		}
	}
	var out []string
	for _, l := range lines[:end] {
		out = append(out, l[min(indent(lines[0]), indent(l)):])
	}
	return strings.Join(out, "\n")
}
