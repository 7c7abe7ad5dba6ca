package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
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

// TestLarge: a change of a large file is that of the same servers in a small one, byte for byte, and
// the lines that are named are those of the file.
func TestLarge(t *testing.T) {
	projects := `  "projects": {"/p": {"mcpServers": {"q": {"command": "x"}}, "history": ["` + strings.Repeat("y", 200) + `",` + "\n\n" + `"z"]}}` + "\n"
	src := []byte(large(twoServers, "word", projects))
	f, err := parseUpTo(enough, JSON, src, outlineTables)
	if err != nil {
		t.Fatal(err)
	}
	if !f.IsOutline() || len(f.src) > enough {
		t.Fatalf("the outline has %d bytes", len(f.src))
	}
	for path, name := range map[string]string{"mcpServers": "m", "projects/*/mcpServers": "q"} {
		table := Table{Path: strings.Split(path, "/")}
		servers := f.Servers(table)
		if len(servers) != 1 || servers[0].Name != name || f.Ambiguity(table) != nil {
			t.Fatalf("%s: %v", path, servers)
		}
		at := bytes.Index(src, []byte(`"`+name+`": {"command"`))
		if want := 1 + bytes.Count(src[:at], []byte("\n")); servers[0].Line != want {
			t.Errorf("%s is in line %d, want %d", name, servers[0].Line, want)
		}
		change := Change{Server: servers[0], Words: []string{"/bin/jail", "run", "--"}}
		after, err := f.Apply(change)
		if err != nil {
			t.Fatal(err)
		}
		was := map[string]string{"m": `"npx", "args": ["-y"`, "q": `"x"}`}[name]
		becomes := map[string]string{"m": `"/bin/jail", "args": ["run", "--", "npx", "-y"`, "q": `"/bin/jail", "args": [ "run", "--", "x"]}`}[name]
		if want := bytes.Replace(src, []byte(was), []byte(becomes), 1); !bytes.Equal(after, want) {
			t.Errorf("%s: the file differs: %d bytes, want %d", name, len(after), len(want))
		}
		diff := f.Diff("file", 0, change)
		if want := fmt.Sprintf("@@ -%d +%d @@\n", servers[0].Line, servers[0].Line); !strings.Contains(diff, want) || strings.Count(diff, "\n") != 5 {
			t.Errorf("the difference has no %q:\n%s", want, diff)
		}
		g, err := parseUpTo(enough, JSON, after, outlineTables)
		if err != nil {
			t.Fatal(err)
		}
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
		"two tables":        {twoServers, "x", twoServers + `"last": 1`, "stands twice"},
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
		f, err := parseUpTo(enough, JSON, []byte(large(c.before, c.history, c.after)), outlineTables)
		if err == nil {
			err = f.Ambiguity(Table{Path: []string{"mcpServers"}})
		}
		if err == nil && f.Servers(Table{Path: []string{"mcpServers"}})[0].Ambiguous != nil {
			err = f.Servers(Table{Path: []string{"mcpServers"}})[0].Ambiguous
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := parseUpTo(enough, JSON, []byte(large(twoServers, "x", `"last": 1, // the end`+"\n")), outlineTables); err != nil {
		t.Errorf("control: %v", err)
	}
	if _, err := ParseLarge(TOML, []byte("a = '"+strings.Repeat("x", MaxSize)+"'"), outlineTables); err == nil {
		t.Error("a large file of TOML is read")
	}
}

// TestOutlineIsJSON: the outliner accepts what the parser of the outline accepts, and nothing else.
func TestOutlineIsJSON(t *testing.T) {
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"b\n"`, `"\q"`, `"\u00e9"`, "1", "-0.5e+3", "01", "1.", "-", "true", "tru", "null", " ", "\n", "// c\n", "/* d */", "/*", "/", `"`, "\t", "é"}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 50_000 {
		var b strings.Builder
		for range 1 + random.IntN(9) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		src := b.String()
		f, _ := Parse(JSON, []byte("0"))
		f.src = []byte(src)
		got := f.outline(outlineTables)
		if strings.TrimSpace(src) == "" {
			continue
		}
		_, want := (&File{format: JSON, src: []byte(src)}).parseJSON()
		if (got == nil) != (want == nil) {
			t.Errorf("%q: %v, and the parser says %v", src, got, want)
		}
		if want == nil {
			accepted++
		}
	}
	if accepted < 300 {
		t.Errorf("control: %d of the texts are JSON", accepted)
	}
}

// FuzzOutline: each change of an outline is the same in the file.
func FuzzOutline(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "x"}}, "other": ["` + strings.Repeat("z", 99) + `"]}`)
	f.Add(`{"projects": {"p": {"mcpServers": {"a": {"command": "x", "args": []}}, "o": {"k": "` + strings.Repeat("z", 99) + `"}}}, /* c */ "mcpServers": 1}`)
	f.Fuzz(func(t *testing.T, src string) {
		whole, err := Parse(JSON, []byte(src))
		if err != nil || whole.root == nil {
			return
		}
		part := &File{format: JSON, src: []byte(src)}
		if err := part.outline(outlineTables); err != nil {
			t.Fatalf("the outline: %v", err)
		}
		if err := part.parse(); err != nil {
			t.Fatalf("the outline %q: %v", part.src, err)
		}
		for _, path := range outlineTables {
			a, b := whole.Servers(Table{Path: path}), part.Servers(Table{Path: path})
			if len(a) != len(b) {
				t.Fatalf("%d servers, and %d in the outline", len(a), len(b))
			}
			for i := range a {
				one, err1 := whole.Apply(Change{Server: a[i], Words: []string{"jail", "--"}})
				two, err2 := part.Apply(Change{Server: b[i], Words: []string{"jail", "--"}})
				if a[i].Line != b[i].Line || (err1 == nil) != (err2 == nil) || !bytes.Equal(one, two) {
					x, _ := json.Marshal(string(part.src))
					t.Fatalf("lines %d and %d, %v and %v:\n%s\n%s\noutline %s", a[i].Line, b[i].Line, err1, err2, one, two, x)
				}
			}
		}
	})
}
