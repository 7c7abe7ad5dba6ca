package clients

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// items returns the entries of a file in its order. It reads values with other parsers than
// the editor of these files does: JSON, without its comments, as YAML.
func items(t *testing.T, p Place, file string, src []byte) (out []Item) {
	t.Helper()
	if filepath.Ext(file) == ".toml" {
		return tomlItems(t, p, src)
	}
	if p.Format != YAML {
		src = blankComments(src)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, table := range p.Tables {
		out = append(out, tableItems(t, table, table.Path, nil, doc.Content[0])...)
	}
	if p.Bare && out == nil {
		out = tableItems(t, Table{}, nil, nil, doc.Content[0])
	}
	if p.Single && out == nil {
		var value any
		if err := doc.Decode(&value); err != nil {
			t.Fatal(err)
		}
		out = []Item{{Table: Table{Single: true}, Name: "x", Line: 1, Value: value}}
	}
	return out
}

func tableItems(t *testing.T, table Table, todo, done []string, n *yaml.Node) (out []Item) {
	item := func(key string, line int, value *yaml.Node) {
		var v any
		if err := value.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, Item{Table: table, Path: append(slices.Clone(done), key), Line: line, Value: v})
	}
	if len(todo) == 0 && n.Kind == yaml.SequenceNode {
		for i, value := range n.Content {
			item(strconv.Itoa(i), value.Line, value)
		}
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case len(todo) == 0:
			item(key.Value, key.Line, value)
		case todo[0] == Any || todo[0] == key.Value:
			out = append(out, tableItems(t, table, todo[1:], append(slices.Clone(done), key.Value), value)...)
		}
	}
	return out
}

// tomlItems finds the entries by their headers, or by their names at the begin of a line.
func tomlItems(t *testing.T, p Place, src []byte) (out []Item) {
	var root map[string]any
	if err := toml.Unmarshal(src, &root); err != nil {
		t.Fatal(err)
	}
	for _, table := range p.Tables {
		value := any(root)
		for _, key := range table.Path {
			inner, _ := value.(map[string]any)
			value = inner[key]
		}
		found, _ := value.(map[string]any)
		for name, entry := range found {
			header := regexp.MustCompile(`(?m)^(\[` + regexp.QuoteMeta(strings.Join(table.Path, ".")) + `\."?` + regexp.QuoteMeta(name) + `"?\]|` + regexp.QuoteMeta(name) + `\b|` + table.Path[0] + ` = )`)
			at := header.FindIndex(src)[0]
			out = append(out, Item{Table: table, Path: append(slices.Clone(table.Path), name), Line: 1 + strings.Count(string(src[:at]), "\n"), Value: entry})
		}
	}
	slices.SortFunc(out, func(a, b Item) int { return cmp.Or(a.Line-b.Line, slices.Compare(a.Path, b.Path)) })
	return out
}

// blankComments replaces comments, and tabs, by blanks.
func blankComments(src []byte) []byte {
	comment := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//[^\n]*|/\*(?s:.*?)\*/|\t`)
	return comment.ReplaceAllFunc(src, func(b []byte) []byte {
		if b[0] == '"' {
			return b
		}
		return []byte(regexp.MustCompile(`[^\n]`).ReplaceAllString(string(b), " "))
	})
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
