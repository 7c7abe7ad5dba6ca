package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTools: what the tools answer. A failure has the words of the operating system, which the jail's diagnosis needs,
// and no name leads out of the directory.
func TestTools(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "notes")
	testkit.Must(t, os.MkdirAll(filepath.Join(dir, "trips"), 0o755))
	for name, text := range map[string]string{
		"notes/garden.md":     "# Garden\nsow the Beans in May\n" + strings.Repeat("x", 1<<17) + "\nthen radishes\n",
		"notes/trips/rome.md": "take the night train\nbeans for lunch\n",
		"notes/list.txt":      "beans that are no note\n",
		"notes/long.md":       strings.Repeat("turnips\n", 3*maxHits),
		"outside.md":          "secret",
	} {
		testkit.Must(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	loop := "symbolic links"
	if runtime.GOOS == "windows" || os.Symlink("loop.md", filepath.Join(dir, "loop.md")) != nil {
		loop = ""
	}
	c, err := client.NewInProcessClient(newServer(notebook{dir: dir}))
	testkit.Must(t, err)
	defer c.Close()
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	testkit.Must(t, err)
	type arguments = map[string]any
	for _, row := range []struct {
		tool      string
		arguments arguments
		fails     bool
		want      string
	}{
		{"search", arguments{"query": "bEANS"}, false, "garden.md:2: sow the Beans in May\n"},
		{"search", arguments{"query": "bEANS"}, false, "trips/rome.md:2: beans for lunch"},
		{"search", arguments{"query": "radishes"}, false, "garden.md:4: then radishes"}, // after a long line
		{"search", arguments{"query": "turnips"}, false, "(the first 50 lines"},
		{"write", arguments{"name": "garden", "text": "# Garden\n"}, false, "replaced garden, 9 bytes"},
		{"read", arguments{"name": "garden"}, false, "# Garden\n"},
		{"write", arguments{"name": "new/deep.md", "text": "hello"}, false, "made new/deep.md, 5 bytes"},
		{"read", arguments{"name": "new/deep"}, false, "hello"},
		{"read", arguments{"name": "nothing"}, true, filepath.Join(dir, "nothing.md")},
		{"read", arguments{"name": "../outside"}, true, "leaves the directory"},
		{"write", arguments{"name": "trips/../../outside", "text": "x"}, true, "leaves the directory"},
		{"write", arguments{"name": filepath.Join(root, "outside.md"), "text": "x"}, true, "leaves the directory"},
		{"write", arguments{"name": "loop", "text": "x"}, loop != "", loop},
		{"search", arguments{"query": "beans"}, false, "trips/rome.md:2:"}, // one bad note hides no other
	} {
		var request mcp.CallToolRequest
		request.Params.Name, request.Params.Arguments = row.tool, row.arguments
		result, err := c.CallTool(t.Context(), request)
		testkit.Must(t, err)
		text := mcp.GetTextFromContent(result.Content[0])
		if result.IsError != row.fails || !strings.Contains(text, row.want) {
			t.Errorf("%s %v: %q, want %q", row.tool, row.arguments, text, row.want)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(root, "outside.md")); string(text) != "secret" {
		t.Errorf("the file outside now says %q", text)
	}
}
