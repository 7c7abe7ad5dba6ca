package answers

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func TestStripRequest(t *testing.T) {
	t.Parallel()
	const version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	for line, want := range map[string]string{
		// Modern: the extension goes, and all else stays.
		`{"id":1,"method":"tools/call","params":{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}},"task":{}}} `:               `{"id":1,"method":"tools/call","params":{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"extensions":{}}},"task":{}}} `,
		`{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"x":1, "io.modelcontextprotocol\/t\u0061sks":{"a":[1]}}},` + version + `}}}`: `{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"x":1}},` + version + `}}}`,
		// Legacy.
		`{"id":1,"method":"initialize","params":{"capabilities":{"tasks":{},"extensions":{"io.modelcontextprotocol/tasks":{},"x":1}}}}`: `{"id":1,"method":"initialize","params":{"capabilities":{"tasks":{},"extensions":{"x":1}}}}`,
		`{"id":1,"method":"tools/call","params":{"task":{"ttl":1},"name":"task","arguments":{"task":1}}}`:                               `{"id":1,"method":"tools/call","params":{"name":"task","arguments":{"task":1}}}`,
		// These stay as they are.
		`{"id":1,"method":"tools/call","params":{"name":"task","arguments":{"task":1}}}`: "",
		`{"id":1,"method":"prompts/get","params":{"task":{}}}`:                           "",
		`{"id":1,"method":"tools/call"}`:                                                 "",
		`{"id":1,"method":"tools/call","params":{"name":"a", "arguments" : {}} }`:        "",
	} {
		f := mcpproxy.Parse([]byte(line))
		got := StripRequest(f)
		if want == "" && got != f {
			t.Errorf("%s was replaced by %s", line, got.Bytes())
		}
		if want != "" && string(got.Bytes()) != want {
			t.Errorf("%s became\n%s, want\n%s", line, got.Bytes(), want)
		}
	}
}

func TestStripServer(t *testing.T) {
	t.Parallel()
	const all = `{"capabilities":{"tools":{"listChanged":true},"tasks":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	for modern, want := range map[bool]string{
		true:  `{"capabilities":{"tools":{},"resources":{},"prompts":{},"extensions":{"a/b":{}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		false: `{"capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{"listChanged":true},"extensions":{"a/b":{}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
	} {
		if got := string(StripServer([]byte(all), modern)); got != want {
			t.Errorf("modern %v: %s", modern, got)
		}
	}
}

func TestStripTools(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`{"tools":[{"name":"a","execution":{"taskSupport":"required", "x":1}}, {"name":"b","execution":{"taskSupport":"optional"}}]}`: `{"tools":[{"name":"a","execution":{ "x":1}},{"name":"b","execution":{}}]}`,
		// A tool that takes no task says what holds here, and the name elsewhere is the server's.
		`{"tools":[{"name":"a","execution":{"taskSupport":"forbidden"}}]}`:                          "",
		`{"tools":[{"name":"a","inputSchema":{"properties":{"execution":{"taskSupport":"x"}}}}]}`:   "",
		`{"tools":{"execution":{"taskSupport":"required"}},"execution":{"taskSupport":"required"}}`: "",
	} {
		if want == "" {
			want = list
		}
		if got := string(StripTools([]byte(list))); got != want {
			t.Errorf("%s became\n%s, want\n%s", list, got, want)
		}
	}
}

func TestIsTask(t *testing.T) {
	t.Parallel()
	for result, want := range testkit.Named[bool](t, "capabilities.txt") {
		if got := IsTask([]byte(result)); got != want {
			t.Errorf("%s: %v", result, got)
		}
	}
}
