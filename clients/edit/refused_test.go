package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// These tables have the files whose server s must not be changed, and those that some client reads
// otherwise than others.
const refusals, ambiguities = "refused.txt", "ambiguous.txt"

// A writtenFile is a row of such a table.
type writtenFile struct {
	name   string
	format Format
	text   string
	want   string // of the error
}

func writtenFiles(t testing.TB, table string) (all []writtenFile) {
	for _, row := range testkit.Rows(t, table, 4) {
		all = append(all, writtenFile{row[0], FormatOf("x." + row[1]), row[2], row[3]})
	}
	return all
}

func TestChangeRefused(t *testing.T) {
	for _, r := range writtenFiles(t, refusals) {
		t.Run(r.format.String()+"/"+r.name, func(t *testing.T) {
			f := testkit.Get(Parse(r.format, []byte(r.text)))(t)
			servers := f.Servers(Table{Path: []string{"servers"}})
			var refused *Fault
			for _, s := range servers {
				if s.Name != "s" {
					continue
				}
				got, err := f.Apply(Change{Server: s, Words: wrapper})
				if !errors.As(err, &refused) || got != nil && refused == nil {
					t.Fatalf("changed to:\n%s", got)
				}
			}
			if refused == nil || !strings.Contains(refused.Error(), r.want) {
				t.Errorf("%v\nwant %s", refused, r.want)
			}
		})
	}
}

func TestChangeMisuse(t *testing.T) {
	const text = `{"servers": {"s": {"command": "npx", "args": ["-y"]}}}`
	f, s := one(t, JSON, text, Table{Path: []string{"servers"}})
	_, stranger := one(t, JSON, text, Table{Path: []string{"servers"}})
	for _, c := range []struct {
		changes []Change
		want    string
	}{
		{[]Change{{Server: s, Drop: 2}}, "2 words in front of its command line cannot be removed, because it has 2"},
		{[]Change{{Server: s, Drop: -1}}, "cannot be removed"},
		{[]Change{{Server: s, Words: []string{"a\x00"}}}, `the new word "a\x00" is not text`},
		{[]Change{{Server: s, Words: []string{"a", "\xff"}}}, `the new word "\xff" is not text`},
		{[]Change{{Server: s, Words: []string{""}}}, "the new program has no name"},
		{[]Change{{Server: s, Words: wrapper}, {Server: s, Words: wrapper}}, "two changes name it"},
		{[]Change{{}}, "it is not a server of this file"},
		{[]Change{{Server: stranger, Words: wrapper}}, "it is not a server of this file; read the servers of the file again"},
	} {
		if got, err := f.Apply(c.changes...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %s, %v, want %s", c.changes, got, err, c.want)
		}
	}
	for _, changes := range [][]Change{nil, {{Server: s}}} {
		testkit.Equal(t, "no change", string(testkit.Get(f.Apply(changes...))(t)), text)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		format     Format
		text, want string
	}{
		{JSON, "{\n\"a\": 'x'}", "line 2: the file is not valid JSON: "},
		{JSON, "{} {}", "line 1: the file is not valid JSON"},
		{JSON, "{\"a\": \"\n\xff\"}", "line 2: the file is not valid JSON: it has bytes that are not UTF-8"},
		{JSON, "\n" + strings.Repeat("[", 1_000_000), "line 2: the file is not valid JSON: it is nested more than 500 levels deep"},
		{TOML, strings.Repeat(" ", maxSize+1), "it has 5242881 bytes"},
		{JSON, strings.Repeat(" ", maxJSON+1), "it has 67108865 bytes"},
		{JSON, "[" + strings.Repeat("1,", maxValues) + "]", "it has more than 1000000 values"},
		{JSON, "{\"a\": \"a\nb\"}", "line 1: the file is not valid JSON: a control character"},
		{JSON, "{\"a\": \"\\u12\"}", "a backslash begins no escape"},
		{JSON, "[1}", "is missing after a value"},
		{JSON, "/* {}", "the file is not valid JSON"},
		{JSON, "{\"a\": 1 /*/ }", "the file is not valid JSON"},
		{TOML, "a = 1\na = 2\n", "line 2: the file is not valid TOML"},
		{TOML, "a = 1\n[a.b]\nc = 1\n", "line 2: the file is not valid TOML"},
		{TOML, "\n\na = [\n", "the file is not valid TOML"},
		{TOML, "[[a]]\n[a]\n", "the file is not valid TOML"},
		{TOML, strings.Repeat("a = "+strings.Repeat("[", 1_000_000), 1), "the file is not valid TOML"},
		{YAML, "a: 1\na: 2\n", "line 2: the file is not valid YAML: "},
		{YAML, "a: 1\n---\nb: 1\n", "a second document begins here"},
		{YAML, "a: &a [*a]\n", "the file is not valid YAML"},
		{YAML, "a: 1\n\tb: 1\n", "the file is not valid YAML"},
		{YAML, "a:\n" + wideYAML(), "line 2: the file is not valid YAML: a mapping has more than 2000 keys"},
		{YAML, strings.Repeat("[", 1_000_000), "the file is not valid YAML"},
		{Format(9), "x", "the format is not known"},
	} {
		_, err := Parse(c.format, []byte(c.text))
		testkit.Fails(t, fmt.Sprintf("%v %.40q", c.format, c.text), err, c.want)
	}
	for _, text := range []string{"", "\ufeff \r\n", "# comment\n"} {
		f, err := Parse(YAML, []byte(text))
		if err != nil || len(f.Servers(Table{})) != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func wideYAML() string {
	var b strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&b, " k%d: 1\n", i)
	}
	return b.String()
}

// TestCheck hands check a file in which something else has changed.
func TestCheck(t *testing.T) {
	const text = `{"servers": {"s": {"command": "npx", "args": ["-y"]}}, "other": [1, 2]}`
	f, s := one(t, JSON, text, Table{Path: []string{"servers"}})
	changes := []Change{{Server: s, Words: wrapper}}
	wrapped, err := f.Apply(changes...)
	if err != nil || f.check(wrapped, changes) != nil {
		t.Fatal(err)
	}
	for _, c := range testkit.Table[struct{ old, new, want string }](t, "check.txt") {
		other := strings.Replace(string(wrapped), c.old, c.new, 1)
		testkit.Fails(t, other, f.check([]byte(other), changes), c.want)
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{"a/.mcp.json": JSON, "opencode.JSONC": JSON, "config.toml": TOML, "c.yaml": YAML, "c.yml": YAML, ".crushrc": 0, "x.json5": 0, "": 0} {
		testkit.Equal(t, name, FormatOf(name), want)
	}
}
