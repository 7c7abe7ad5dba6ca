package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// open starts a server on dir and returns a function that calls its tools.
func open(t *testing.T, dir string) func(tool string, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	c, err := client.NewInProcessClient(newServer(notebook{dir: dir}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(context.Background(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return func(tool string, arguments map[string]any) *mcp.CallToolResult {
		t.Helper()
		var request mcp.CallToolRequest
		request.Params.Name, request.Params.Arguments = tool, arguments
		result, err := c.CallTool(context.Background(), request)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return result
	}
}

func text(result *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range result.Content {
		b.WriteString(mcp.GetTextFromContent(c))
	}
	return b.String()
}

func notes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"garden.md":     "# Garden\nsow the Beans in May\n",
		"trips/rome.md": "take the night train\nbeans for lunch\n",
		"list.txt":      "beans that are no note\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSearch(t *testing.T) {
	call := open(t, notes(t))
	got := call("search", map[string]any{"query": "bEANS"})
	want := "garden.md:2: sow the Beans in May\ntrips/rome.md:2: beans for lunch"
	if got.IsError || text(got) != want {
		t.Errorf("got %q, want %q", text(got), want)
	}
	if got := text(call("search", map[string]any{"query": "turnips"})); got != "no note says that" {
		t.Errorf("got %q", got)
	}
}

func TestSearchStopsInTime(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long.md"), []byte(strings.Repeat("beans\n", 3*maxHits)), 0o644); err != nil {
		t.Fatal(err)
	}
	got := text(open(t, dir)("search", map[string]any{"query": "beans"}))
	if n := strings.Count(got, "beans"); n != maxHits {
		t.Errorf("%d lines, want %d", n, maxHits)
	}
}

func TestReadAndWrite(t *testing.T) {
	dir := notes(t)
	call := open(t, dir)
	for _, step := range []struct {
		name, text, want string
	}{
		{"garden", "# Garden\n", "replaced garden, 9 bytes"},
		{"new/deep.md", "hello", "made new/deep.md, 5 bytes"},
	} {
		if got := call("write", map[string]any{"name": step.name, "text": step.text}); got.IsError || text(got) != step.want {
			t.Errorf("write %s: got %q, want %q", step.name, text(got), step.want)
		}
		if got := call("read", map[string]any{"name": step.name}); got.IsError || text(got) != step.text {
			t.Errorf("read %s: got %q, want %q", step.name, text(got), step.text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new", "deep.md")); err != nil {
		t.Error(err)
	}
}

func TestNamesThatLeave(t *testing.T) {
	dir := notes(t)
	outside := filepath.Join(filepath.Dir(dir), "outside.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := open(t, dir)
	for _, name := range []string{"../outside", "trips/../../outside", outside} {
		for _, tool := range []string{"read", "write"} {
			got := call(tool, map[string]any{"name": name, "text": "x"})
			if !got.IsError || !strings.Contains(text(got), "leaves the directory") {
				t.Errorf("%s %s: got %q", tool, name, text(got))
			}
		}
	}
	if text, _ := os.ReadFile(outside); string(text) != "secret" {
		t.Errorf("the file outside now says %q", text)
	}
}

// TestErrorsKeepTheSystemsWords shows that the client gets the errors of the operating system: the jail's diagnosis
// needs them.
func TestErrorsKeepTheSystemsWords(t *testing.T) {
	dir := notes(t)
	call := open(t, dir)
	missing := call("read", map[string]any{"name": "nothing"})
	if !missing.IsError || !strings.Contains(text(missing), filepath.Join(dir, "nothing.md")) {
		t.Errorf("got %q", text(missing))
	}
	if got := open(t, filepath.Join(dir, "gone"))("search", map[string]any{"query": "x"}); !got.IsError || !strings.Contains(text(got), "gone") {
		t.Errorf("got %q", text(got))
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Symlink("loop.md", filepath.Join(dir, "loop.md")); err != nil {
		t.Fatal(err)
	}
	got := call("write", map[string]any{"name": "loop", "text": "x"})
	if !got.IsError || !strings.Contains(text(got), "symbolic links") {
		t.Errorf("got %q", text(got))
	}
	found := call("search", map[string]any{"query": "beans"})
	if found.IsError || !strings.Contains(text(found), "could not look: ") || !strings.Contains(text(found), "garden.md:2:") {
		t.Errorf("one bad note hid the others: %q", text(found))
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	c, err := client.NewInProcessClient(newServer(notebook{dir: t.TempDir()}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(context.Background(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	var request mcp.CallToolRequest
	request.Params.Name = "read"
	if result, err := c.CallTool(context.Background(), request); err == nil && !result.IsError {
		t.Errorf("read without a name answered %q", text(result))
	}
}
