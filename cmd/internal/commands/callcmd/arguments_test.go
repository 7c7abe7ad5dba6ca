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
		"":                                   "! the text: not a JSON object, such as {\"path\": \"/tmp\"}: unexpected end of JSON input",
		"{\"a\": 1,}":                        `! the text: not a JSON object, such as {"path": "/tmp"}: invalid character '}'`,
		"{\n  \"ä\": x\n}":                   `! the text: not a JSON object, such as {"path": "/tmp"}: invalid character 'x'`,
		"{} {}":                              `! the text: not a JSON object, such as {"path": "/tmp"}: invalid character '{' after top-level value`,
		"[1]":                                "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}",
		"\"{}\"":                             "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}",
		"null":                               "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}",
		"-3":                                 "! the text: a tool takes a JSON object, such as {\"path\": \"/tmp\"}",
		"{\"a\": \"\xff\"}":                  "! the text: not JSON: it is not UTF-8",
		"{\"a\": \"" + "\x1b[2J\n" + "\"}":   "! the text: not a JSON object, such as {\"path\": \"/tmp\"}: ",
		"{'path': '/tmp'}":                   `! the text: not a JSON object, such as {"path": "/tmp"}: invalid character '\''`,
		"{\"a\": " + strings.Repeat("[", 20): "! the text: not a JSON object, such as {\"path\": \"/tmp\"}: unexpected end",
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
	listed, err := listedIn(`{"tools":[{"name":"t","inputSchema":{"type":"object","required":["path","n"],"properties":{
		"path":{"type":"string"},"n":{"type":"integer"},"on":{"type":"boolean"},"either":{"type":["string","number"]},"list":{"type":"array"},"any":{}}}}]}`)
	testkit.Must(t, err)
	schema := listed[0].schema()
	for line, want := range map[string]string{
		"path=7 n=7":           `{"n":7,"path":"7"}`,
		"path=a=b":             `{"path":"a=b"}`,
		"path=":                `{"path":""}`,
		"on=true either=5":     `{"either":"5","on":true}`,
		`list=["a",1]`:         `{"list":["a",1]}`,
		"any=5 unknown=x":      `{"any":5,"unknown":"x"}`,
		"n=seven":              `! n: the tool wants integer, and "seven" is none`,
		"path=a path=b":        "! path is given twice",
		`n={"deep":{"er":[]}}`: `{"n":{"deep":{"er":[]}}}`, // which values are right, the server decides
	} {
		got, err := arguments{pairs: strings.Fields(line)}.object(schema)
		if problem, fails := strings.CutPrefix(want, "! "); fails {
			if err == nil || !strings.HasPrefix(err.Error(), problem) {
				t.Errorf("%s: %s, %v, want %s", line, got, err, problem)
			}
		} else if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
	if got := strings.Join(listed[0].parameters(), ", "); got != "path: string, n: integer, [on: boolean], [either: string or number], [list: array], [any]" {
		t.Error(got)
	}
	// Without a schema, or with one that is not understood, everything passes.
	for _, page := range []string{`{"tools":[{"name":"t"}]}`, `{"tools":[{"name":"t","inputSchema":[1]}]}`, `{"tools":[{"name":"t","inputSchema":{"properties":7,"required":"x"}}]}`} {
		listed, err := listedIn(page)
		testkit.Must(t, err)
		if got, err := (arguments{pairs: []string{"a=1", "b=x"}}).object(listed[0].schema()); err != nil || string(got) != `{"a":1,"b":"x"}` {
			t.Errorf("%s: %s, %v", page, got, err)
		}
	}
}

// listedIn returns the tools of a page.
func listedIn(page string) ([]Tool, error) {
	var list struct{ Tools []Tool }
	err := json.Unmarshal([]byte(page), &list)
	return list.Tools, err
}
