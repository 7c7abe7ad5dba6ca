package learncmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRead tests the files of drives.
func TestRead(t *testing.T) {
	got, err := read(strings.NewReader("\ufeff# a comment\n\n"+
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n"+
		`{"method":"tools/call","params":{"name":"read","arguments":{"path":"x"}}}`+"\r\n"+
		`{"method":"resources/list"}`), "f")
	if err != nil || len(got) != 2 || got[0].Tool != "read" || got[1].Method != "resources/list" || got[1].Params != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                            "f has no request",
		"x":                           "f, line 1: no JSON object",
		"\n[]":                        "f, line 2: no JSON object",
		`{"params":{}}`:               `f, line 1: no "method"`,
		`{"method":"tools/call"}`:     `f, line 1: a tools/call without the "name"`,
		`{"method":"a","params":[1]}`: `f, line 1: "params" must be an object`,
		strings.Repeat(`{"method":"a"}`+"\n", maxRequests+1): "f has more than 1000 requests",
	} {
		if _, err := read(strings.NewReader(text), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// TestProbe tests which tools are called, and with what.
func TestProbe(t *testing.T) {
	list := func(tool string) []callcmd.Tool {
		all := make([]callcmd.Tool, 1)
		testkit.Must(t, json.Unmarshal([]byte(tool), &all[0]))
		return all
	}
	read := func(name, schema string) string {
		return fmt.Sprintf(`{"name":%q,"annotations":{"readOnlyHint":true},"inputSchema":%s}`, name, schema)
	}
	place := place{Workspace: "/ws", File: "README.md"}
	for schema, want := range testkit.Named[string](t, "probes.txt") {
		got, skipped := probe(list(read("t", schema)), place)
		if len(got) != 1 || len(skipped) != 0 {
			t.Errorf("%s: %+v, %+v", schema, got, skipped)
			continue
		}
		var params struct{ Arguments json.RawMessage }
		if json.Unmarshal(got[0].Params, &params); string(params.Arguments) != want {
			t.Errorf("%s: %s, want %s", schema, params.Arguments, want)
		}
	}
	got, _ := probe(list(read("read_text", `{"required":["path"],"properties":{"path":{"type":"string"}}}`)), place)
	if !strings.Contains(string(got[0].Params), "/ws/README.md") {
		t.Errorf("a tool that reads gets %s", got[0].Params)
	}
	self := `{"required":["o"],"properties":{"o":{"$ref":"#"}}}`
	for tool, why := range map[string]string{
		`{"name":"t"}`: "does not say",
		`{"name":"t","annotations":{"readOnlyHint":false}}`: "changes something",
		read("t", self): "nests too deep",
		read("t", `{"required":["p"],"properties":{"p":{"type":"string","pattern":"x"}}}`): "must match a pattern",
		read("t", `7`): "its schema cannot be read",
	} {
		if got, skipped := probe(list(tool), place); len(got) != 0 || len(skipped) != 1 || !strings.Contains(skipped[0].Why, why) {
			t.Errorf("%s: %+v, %+v", tool, got, skipped)
		}
	}
}

// TestPlay tests a whole drive against a server that ends before the last answer.
func TestPlay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	results := testkit.Named[string](t, "play.txt")
	from, out := io.Pipe()
	in, to := io.Pipe()
	go func() {
		defer out.Close()
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct{ Name string }
			}
			json.Unmarshal(lines.Bytes(), &m)
			result := results[m.Method]
			if m.Params.Name == "end" {
				return
			}
			if m.ID != nil {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			}
		}
	}()
	var asked []string
	p := player{Client: callcmd.Client{Name: "test"}, Each: func(a answer) { asked = append(asked, a.Request.String()) }}
	got, err := p.play(ctx, from, to)
	testkit.Must(t, err)
	if want := "tools/list a"; strings.Join(asked, " ") != want {
		t.Errorf("answered %v, want %s", asked, want)
	}
	if len(got.Answers) != 2 || got.Broken == nil || !strings.Contains(got.Broken.Error(), "end: the server ended") || len(got.Skipped) != 1 || got.Skipped[0].Tool != "b" {
		t.Errorf("%+v", got)
	}
}
