package edit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// enough is the size above which these tests make an outline.
const enough = 1000

// large returns a JSON file that is larger than enough, most of it outside of the tables.
func large(before, history, after string) string {
	one := `{"display": "a \"b\" } ] é", "n": [1, -2.5e3, true, null, {}], "s": "` + history + `"}`
	return "{\n" + before + `"history": [` + strings.Repeat(one+",\n", 50) + one + "],\n" + after + "}\n"
}

var outlineTables = [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}}

const twoServers = `  "mcpServers": {"m": {"command": "npx", "args": ["-y", "\u0070kg"], "note": "` + "long, long, long, long, long, long, long, long, long, long, long" + `"}},` + "\n"

func parseUpTo(most int, src []byte, tables [][]string) (*File, error) {
	f := &File{format: JSON, src: src, tables: tables, most: most}
	return f, f.parse()
}

// TestLarge: a change of a large file is that of the same servers in a small one, byte for byte, and
// the lines that are named are those of the file.
func TestLarge(t *testing.T) {
	projects := `  "projects": {"/p": {"mcpServers": {"q": {"command": "x"}}, "history": ["` + strings.Repeat("y", 200) + `",` + "\n\n" + `"z"]}}` + "\n"
	src := []byte(large(twoServers, "word", projects))
	f := testkit.Get(parseUpTo(enough, src, outlineTables))(t)
	if text, _ := f.outline(); !f.IsOutline() || len(text) > enough {
		t.Fatalf("the outline has %d bytes", len(text))
	}
	for path, name := range map[string]string{"mcpServers": "m", "projects/*/mcpServers": "q"} {
		table := Table{Path: strings.Split(path, "/")}
		servers := f.Servers(table)
		if len(servers) != 1 || servers[0].Name != name || f.Ambiguity(table) != nil {
			t.Fatalf("%s: %v", path, servers)
		}
		at := bytes.Index(src, []byte(`"`+name+`": {"command"`))
		testkit.Equal(t, fmt.Sprintf("%s is in line", name), servers[0].Line, 1+bytes.Count(src[:at], []byte("\n")))
		change := Change{Server: servers[0], Words: []string{"/bin/jail", "run", "--"}}
		after := testkit.Get(f.Apply(change))(t)
		was := map[string]string{"m": `"npx", "args": ["-y"`, "q": `"x"}`}[name]
		becomes := map[string]string{"m": `"/bin/jail", "args": ["run", "--", "npx", "-y"`, "q": `"/bin/jail", "args": [ "run", "--", "x"]}`}[name]
		if want := bytes.Replace(src, []byte(was), []byte(becomes), 1); !bytes.Equal(after, want) {
			t.Errorf("%s: the file differs: %d bytes, want %d", name, len(after), len(want))
		}
		diff := f.Diff("file", change)
		if want := fmt.Sprintf("@@ -%d +%d @@\n", servers[0].Line, servers[0].Line); !strings.Contains(diff, want) || strings.Count(diff, "\n") != 5 {
			t.Errorf("the difference has no %q:\n%s", want, diff)
		}
		g := testkit.Get(parseUpTo(enough, after, outlineTables))(t)
		back, err := g.Apply(Change{Server: g.Servers(table)[0], Drop: 3})
		if err != nil || !bytes.Equal(back, src) {
			t.Errorf("%s: it is not what it was: %v", name, err)
		}
	}
}

// TestLargeRefused: what clients may read in two ways, and what is no JSON, is found in a large file
// as in a small one.
func TestLargeRefused(t *testing.T) {
	for name, c := range map[string]struct{ before, history, after, want string }{
		"two tables":        {twoServers, "x", twoServers + `"last": 1`, "is there twice"},
		"another case":      {twoServers, "x", `"McpServers": {"n": {"command": "` + strings.Repeat("long", 30) + `"}}`, "ignores the case"},
		"a carriage return": {twoServers, "x", "\"last\": [1,\r 2]", "carriage return"},
		"no value":          {twoServers, "x", `"last": {"deep": [undefined` + strings.Repeat(" ", 100) + `]}`, "is not a value"},
		"no comma":          {twoServers, "x", `"last": [1 2` + strings.Repeat(" ", 100) + `]`, "comma"},
		"a wrong bracket":   {twoServers, "x", `"last": [1}`, "is missing"},
		"an open string":    {twoServers, "x", `"last": "a`, "control character"},

		"a line in a string": {twoServers, "a\nb", `"last": 1`, "control character"},
		"no escape":          {twoServers, `\x`, `"last": 1`, "escape"},
		"half an escape":     {twoServers, `\u12`, `"last": 1`, "escape"},
		"deep":               {twoServers, "x", `"last": ` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), "levels deep"},
		"a second value":     {twoServers, "x", `"last": 1} {"mcpServers": {}`, "more than one value"},
		"a long table":       {twoServers, "x", `"projects": {"/p": {"mcpServers": {"n": {"command": "` + strings.Repeat("x", enough) + `"}}}}`, "edits at most"},
	} {
		f, err := parseUpTo(enough, []byte(large(c.before, c.history, c.after)), outlineTables)
		if err == nil {
			err = f.Ambiguity(Table{Path: []string{"mcpServers"}})
		}
		if err == nil && f.Servers(Table{Path: []string{"mcpServers"}})[0].Ambiguous != nil {
			err = f.Servers(Table{Path: []string{"mcpServers"}})[0].Ambiguous
		}
		testkit.Fails(t, name, err, c.want)
	}
	if _, err := parseUpTo(enough, []byte(large(twoServers, "x", `"last": 1, // the end`+"\n")), outlineTables); err != nil {
		t.Errorf("control: %v", err)
	}
	values := "[" + strings.Repeat("1, ", MaxSize) + "2]"
	for src, want := range map[string]string{`{"mcpServers": {"m": ` + values + `}}`: "too many", `{"history": ` + values + `}`: ""} {
		if _, err := ParseLarge(JSON, []byte(src), outlineTables); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := ParseLarge(TOML, []byte("a = '"+strings.Repeat("x", MaxSize)+"'"), outlineTables); err == nil {
		t.Error("a large file of TOML is read")
	}
}

// TestJSON: the parser accepts what hujson accepts, and nothing else, whether it looks at a value or not.
func TestJSON(t *testing.T) {
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"b\n"`, `"\q"`, `"\u00e9"`, "1", "-0.5e+3", "01", "1.", "-", "true", "tru", "null", " ", "\n", "// c\n", "/* d */", "/*", "/", `"`, "\t", "é"}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 50_000 {
		src := ""
		for range 1 + random.IntN(9) {
			src += pieces[random.IntN(len(pieces))]
		}
		if strings.TrimSpace(src) == "" {
			continue
		}
		_, want := hujson.Parse([]byte(src + "\n"))
		_, whole := parseUpTo(enough, []byte(src), nil)
		if _, part := parseUpTo(0, []byte(src), outlineTables); (whole == nil) != (want == nil) || part == nil && want != nil || part != nil && want == nil && !strings.Contains(part.Error(), "edits at most") {
			t.Errorf("%q: %v and %v, and hujson says %v", src, whole, part, want)
		}
		if want == nil {
			accepted++
		}
	}
	if accepted < 300 {
		t.Errorf("control: %d of the texts are JSON", accepted)
	}
}
