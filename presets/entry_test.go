package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// print encodes what came of an entry; the result must be a valid configuration.
func printApplied(t testing.TB, a applied) string {
	t.Helper()
	s := *a.Server
	s.Command = "server"
	c := &config.Config{Servers: map[string]*config.Server{s.Name: &s}}
	text := string(c.Encode())
	if _, err := config.Decode([]byte(text), "x"); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, o := range a.Open {
		text += "open " + o.String() + "\n"
	}
	return text + fmt.Sprintln("unknown", a.Unknown)
}

// listed returns the parts of a list in a row.
func listed(text string) (list []string) {
	if text != "" {
		list = strings.Split(text, " | ")
	}
	return list
}

func variables(text string) map[string]string {
	env := map[string]string{}
	for _, v := range listed(text) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

func TestFor(t *testing.T) {
	for _, row := range testkit.Rows(t, "entries.txt", 5) {
		preset, e := row[0], Entry{Env: variables(row[1]), Args: listed(row[2])}
		p := testkit.Get(Find(preset))(t)
		before := printApplied(t, applied{Server: p.Server})
		got := printApplied(t, p.For(e))
		for _, want := range listed(row[3]) {
			testkit.Contains(t, row, got, want)
		}
		for _, never := range listed(row[4]) {
			if strings.Contains(got, never) {
				t.Errorf("%q: %q in\n%s", row, never, got)
			}
		}
		if after := printApplied(t, applied{Server: p.Server}); after != before {
			t.Errorf("%s: For changed the preset", preset)
		}
	}
}

// FuzzFor tests that For returns a valid server for each entry. The server contains no value
// of a variable that the preset knows as a secret only.
func FuzzFor(f *testing.F) {
	for i := range Names() {
		f.Add(i, "https://u:p@h.example:1/x", "--url=redis://h", "/a")
		f.Add(i, "${X}", "--db-path", "mongodb://a,b:2")
	}
	f.Fuzz(func(t *testing.T, i int, value, first, second string) {
		names := Names()
		p := testkit.Get(Find(names[uint(i)%uint(len(names))]))(t)
		e := Entry{Env: map[string]string{}, Args: []string{first, second}}
		for _, v := range p.Variables {
			e.Env[v.Name] = value
			if v.Secret && v.Kind == plainText {
				e.Env[v.Name] = "the-secret-value"
			}
		}
		if text := printApplied(t, p.For(e)); strings.Contains(text, "the-secret-value") && !strings.Contains(value+first+second, "secret") {
			t.Fatal(text)
		}
	})
}
