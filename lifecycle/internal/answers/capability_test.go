package answers

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func TestStripRequest(t *testing.T) {
	t.Parallel()
	const version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	for line, want := range testkit.Named[string](t, "capabilities-kept.txt") {
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
