package clients

import (
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
