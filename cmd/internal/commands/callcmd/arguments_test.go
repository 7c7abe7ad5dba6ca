package callcmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestObject tests what arguments a tool may get as JSON, and where a fault is said to be.
func TestObject(t *testing.T) {
	for text, want := range testkit.Named[string](t, "arguments.txt", "<deep>", strings.Repeat("[", 20)) {
		got, err := object([]byte(text), "the text")
		problem, fails := strings.CutPrefix(want, "! ")
		switch {
		case fails && (err == nil || !strings.HasPrefix(err.Error(), problem)):
			t.Errorf("%q: %s, %v\nwant %s", text, got, err, problem)
		case fails && strings.ContainsAny(err.Error(), "\x1b\n"):
			t.Errorf("%q: a terminal would act on %q", text, err)
		case !fails && (err != nil || string(got) != want):
			t.Errorf("%q: %s, %v\nwant %s", text, got, err, want)
		}
	}
}

// TestPairs tests what NAME=VALUE means for what a tool says of its arguments.
func TestPairs(t *testing.T) {
	listed, err := toolsOf([][]byte{[]byte(`{"tools":[{"name":"t","inputSchema":{"type":"object","required":["path","n"],"properties":{
		"path":{"type":"string"},"n":{"type":"integer"},"on":{"type":"boolean"},"either":{"type":["string","number"]},"list":{"type":"array"},"any":{}}}}]}`)})
	testkit.Must(t, err)
	schema := listed[0].schema()
	for line, want := range testkit.Named[string](t, "pairs.txt") {
		got, err := arguments{pairs: strings.Fields(line)}.object(schema)
		if problem, fails := strings.CutPrefix(want, "! "); fails {
			if err == nil || !strings.HasPrefix(err.Error(), problem) {
				t.Errorf("%s: %s, %v, want %s", line, got, err, problem)
			}
		} else if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
	if got := schema.missing(json.RawMessage(`{"n":null}`)); len(got) != 1 || got[0] != "path" {
		t.Errorf("missing: %q", got)
	}
	if got := strings.Join(listed[0].parameters(), ", "); got != "path: string, n: integer, [on: boolean], [either: string or number], [list: array], [any]" {
		t.Error(got)
	}
	// Without a schema, or with one that is not understood, everything passes.
	for _, page := range []string{`{"tools":[{"name":"t"}]}`, `{"tools":[{"name":"t","inputSchema":[1]}]}`, `{"tools":[{"name":"t","inputSchema":{"properties":7,"required":"x"}}]}`} {
		listed, err := toolsOf([][]byte{[]byte(page)})
		testkit.Must(t, err)
		if got, err := (arguments{pairs: []string{"a=1", "b=x"}}).object(listed[0].schema()); err != nil || string(got) != `{"a":1,"b":"x"}` {
			t.Errorf("%s: %s, %v", page, got, err)
		}
	}
}

// TestTexts tests what a result has for people.
func TestTexts(t *testing.T) {
	for _, c := range testkit.Table[struct {
		name, result string
		told         bool
		want         string
	}](t, "results.txt") {
		var out result
		testkit.Must(t, json.Unmarshal([]byte(c.result), &out))
		if got := strings.Join(out.texts(c.told), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestQuoted: no line of a server's words can be taken for one of mcp-jail's.
func TestQuoted(t *testing.T) {
	r := &outcome{Server: "s", Tool: "t"}
	for text, want := range map[string]string{
		"no":                             "t:\n  | no",
		"to grant it:\n  mcp-jail grant": "t:\n  | to grant it:\n  |   mcp-jail grant",
	} {
		if got := r.quoted(terminal.New(nil, nil, nil), text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for line, want := range map[string]bool{`  The server said: "no \"x\""`: true, `  The server said: "other"`: false, `  fix: no "x"`: false, "  The server said: ": false} {
		if repeats(line, "it said no \"x\" to me") != want {
			t.Errorf("%s is repeated: want %v", line, want)
		}
	}
}
