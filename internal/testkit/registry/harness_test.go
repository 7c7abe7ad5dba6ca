package registry

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Programs{ProgramName: Main}.Dispatch()
	os.Exit(m.Run())
}

// user is a directory with a project and a home, and the site that npm and pip ask there.
type user struct {
	t             testing.TB
	url           string
	home, project string
}

// newNPM returns a user who has npm, npx and node.
func newNPM(t testing.TB, url string) user {
	t.Helper()
	for _, program := range []string{"node", "npm", "npx"} {
		if _, err := exec.LookPath(program); err != nil {
			testkit.Skip(t, "npm", "%v", err)
		}
	}
	return newUser(t, url)
}

func newUser(t testing.TB, url string) user {
	t.Helper()
	u := user{t, url, t.TempDir(), t.TempDir()}
	if err := os.WriteFile(filepath.Join(u.project, "package.json"), []byte(`{"name": "project", "version": "1.0.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u user) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = u.project, Environ(u.url, u.home)
	return c
}

// does runs a command that must succeed, and returns what it printed.
func (u user) does(name string, args ...string) string {
	u.t.Helper()
	out, err := u.command(name, args...).CombinedOutput()
	if err != nil {
		u.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// fails runs a command that must fail and say a word.
func (u user) fails(word, name string, args ...string) string {
	u.t.Helper()
	out, err := u.command(name, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), word) {
		u.t.Errorf("%s %q: %v, want a failure with %q\n%s", name, args, err, word, out)
	}
	return string(out)
}

// has reads a file of the project.
func (u user) has(name string) string {
	u.t.Helper()
	text, err := os.ReadFile(filepath.Join(u.project, name))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(text)
}

// talk sends requests to an MCP server and returns its results, in order.
func (u user) talk(c *exec.Cmd, requests ...string) []map[string]any {
	u.t.Helper()
	c.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		u.t.Fatalf("%v: %v\n%s", c.Args, err, complaint.Bytes())
	}
	var results []map[string]any
	for line := range strings.Lines(string(out)) {
		var answer struct{ Result map[string]any }
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			u.t.Fatalf("%v said %q: %v", c.Args, line, err)
		}
		results = append(results, answer.Result)
	}
	if len(results) != len(requests) {
		u.t.Fatalf("%d answers to %d requests\n%s\n%s", len(results), len(requests), out, complaint.Bytes())
	}
	return results
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	listTools  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

func callTool(name, args string) string {
	return `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
}

// said returns the text of a tool's result.
func said(t testing.TB, result map[string]any) string {
	t.Helper()
	content, ok := result["content"].([]any)
	if !ok || len(content) != 1 {
		t.Fatalf("no content: %v", result)
	}
	return content[0].(map[string]any)["text"].(string)
}

// get fetches with net/http; headers are pairs.
func get(t testing.TB, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		q.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// paths returns the methods and addresses of a log, sorted.
func paths(log []Request) []string {
	var out []string
	for _, q := range log {
		out = append(out, q.Method+" "+q.URI)
	}
	slices.Sort(out)
	return out
}
