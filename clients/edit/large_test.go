package edit

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLarge: a file of JSON may have much beside its servers. A change names its line, and is undone byte for byte.
func TestLarge(t *testing.T) {
	history := strings.Repeat(`{"display": "a \"b\" } ] é", "n": [1, -2.5e3, true, null, {}], "pasted": "`+strings.Repeat("text ", 2_000)+`"},`+"\n", 530)
	src := []byte("{\n\"history\": [" + history + "0],\n" + `"projects": {"/p": {"mcpServers": {"q": {"command": "x"}}}}` + "}\n")
	if len(src) < maxSize {
		t.Fatal("control: the file is small:", len(src))
	}
	table := Table{Path: []string{"projects", "*", "mcpServers"}}
	f := testkit.Get(Parse(JSON, src))(t)
	change := Change{Server: f.Servers(table)[0], Words: []string{"/bin/jail", "run", "--"}}
	after := testkit.Get(f.Apply(change))(t)
	want := bytes.Replace(src, []byte(`"x"}`), []byte(`"/bin/jail", "args": [ "run", "--", "x"]}`), 1)
	testkit.Equal(t, "the change is that of a small file", bytes.Equal(after, want), true)
	if diff := f.Diff("file", change); !strings.Contains(diff, "@@ -533 +533 @@\n") || strings.Count(diff, "\n") != 5 {
		t.Errorf("the difference is %.1000q", diff)
	}
	g := testkit.Get(Parse(JSON, after))(t)
	back := testkit.Get(g.Apply(Change{Server: g.Servers(table)[0], Drop: 3}))(t)
	testkit.Equal(t, "it is what it was", bytes.Equal(back, src), true)
}

// TestJSON: the parser accepts what hujson accepts, and nothing else.
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
		f := &File{format: JSON, src: []byte(src)}
		if err := f.parse(); (err == nil) != (want == nil) {
			t.Errorf("%q: %v, and hujson says %v", src, err, want)
		}
		if want == nil {
			accepted++
		}
	}
	if accepted < 300 {
		t.Errorf("control: %d of the texts are JSON", accepted)
	}
}
