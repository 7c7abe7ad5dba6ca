package callcmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestObject tests what arguments a tool may get as JSON, and where a fault is said to be.
func TestObject(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                 `{}`,
		" {\"a\": 1,\n \"b\": [\"x\"]}\n":    `{"a":1,"b":["x"]}`,
		"\ufeff{\"a\": 1e400}":               `{"a":1e400}`, // numbers pass as they are
		"{\"a\": 12345678901234567890.10}":   `{"a":12345678901234567890.10}`,
		"":                                   "! the text, character 1: no JSON: unexpected end of JSON input",
		"{\"a\": 1,}":                        `! the text, character 9, after "{\"a\": 1,": no JSON: invalid character '}'`,
		"{\n  \"ä\": x\n}":                   `! the text, line 2, character 8, after "  \"ä\": ": no JSON: invalid character 'x'`,
		"{} {}":                              `! the text, character 4, after "{} ": no JSON: invalid character '{' after top-level value`,
		"[1]":                                "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}, and this is a list",
		"\"{}\"":                             "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}, and this is a text",
		"null":                               "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}, and this is null",
		"-3":                                 "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}, and this is a number",
		"{\"a\": \"\xff\"}":                  "! the text: no JSON: it is not UTF-8",
		"{\"a\": \"" + "\x1b[2J\n" + "\"}":   "! the text, ",
		"{'path': '/tmp'}":                   `! the text, character 2, after "{": no JSON: invalid character '\''`,
		"{\"a\": " + strings.Repeat("[", 20): "! the text, character 26",
	} {
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
