package wrapping

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// program is mcp-jail, in a directory of PATH.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "wrapping")
	if err == nil {
		program = filepath.Join(dir, "mcp-jail")
		err = errors.Join(os.WriteFile(program, nil, 0o755), os.Setenv("PATH", dir+":"+os.Getenv("PATH")))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// newHost returns a host with a home directory and a project.
func newHost(t *testing.T) clients.Host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	h := clients.Host{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Env: func(string) string { return "" }}
	must(t, os.MkdirAll(h.Home, 0o700))
	must(t, os.MkdirAll(h.Project, 0o700))
	return h
}

var must = testkit.Must

func configDir(h clients.Host) string { return filepath.Join(h.Home, ".config", "mcp-jail") }

func newIDs(h clients.Host, files ...*File) *IDs { return NewIDs(configDir(h), files, nil) }

// write writes a file and makes its directory.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testkit.WriteFile(t, path, text)
}

// only returns the one file that a selection finds.
func only(t *testing.T, h clients.Host, sel Selection) *File {
	t.Helper()
	files, err := Find(h, sel)
	must(t, err)
	if len(files) != 1 || files[0].Err != nil {
		t.Fatalf("%d files, %v", len(files), files[0].Err)
	}
	return files[0]
}

// TestFind looks for files of several clients, one of which two clients read.
func TestFind(t *testing.T) {
	h := newHost(t)
	const one = `{"mcpServers": {"a": {"command": "x"}}}`
	write(t, filepath.Join(h.Home, ".claude.json"), `{"projects": {"/p": {"mcpServers": {"b": {"command": "y"}}}}, "mcpServers": {}}`)
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {`)
	write(t, filepath.Join(h.Project, ".mcp.json"), one)
	write(t, filepath.Join(h.Home, ".gemini/settings.json"), `{"theme": "x"}`)
	files, err := Find(h, Selection{})
	must(t, err)
	var got []string
	for _, f := range files {
		line := f.Client.Name + " " + filepath.Base(f.Path)
		for _, e := range f.Entries {
			line += " " + e.Server + e.For
		}
		if f.Err != nil {
			line += " error"
		}
		got = append(got, line)
	}
	for _, want := range []string{"claude-code .claude.json b/p", "claude-code .mcp.json a", "cursor mcp.json error"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%q", got)
	}
	for _, sel := range []Selection{{Clients: []string{"clod"}}, {Files: []string{h.Home + "/none.json"}}, {Files: []string{h.Project + "/.mcp.json"}, Servers: []string{"b"}}} {
		if files, err := Find(h, sel); err == nil {
			t.Errorf("%v: %d files", sel, len(files))
		}
	}
	write(t, filepath.Join(h.Home, "else.json"), one)
	f := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{h.Home + "/else.json"}})
	if f.Client.Name != "cursor" || len(f.Entries) != 1 {
		t.Errorf("%s, %d entries", f.Client.Name, len(f.Entries))
	}
}

// TestInherited: a path in a variable of the user's environment, which a preset names, is shown
// among the grants.
func TestInherited(t *testing.T) {
	h := newHost(t)
	h.Env = func(name string) string { return map[string]string{"MEMORY_FILE_PATH": h.Home + "/notes/m.json"}[name] }
	must(t, os.Mkdir(filepath.Join(h.Home, "notes"), 0o700))
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"m": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}`)
	p := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
	if text := strings.Join(p.Gets, ", "); text != "~/notes (read and write), MEMORY_FILE_PATH" {
		t.Error(text)
	}
}

// TestChangedMeanwhile: if a client writes the file after it was read, nothing of that is lost.
func TestChangedMeanwhile(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Project, ".mcp.json")
	write(t, path, `{"mcpServers": {"a": {"command": "x"}}}`)
	change := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
	const clients = `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`
	write(t, path, clients)
	if _, err := change.Write(filepath.Join(h.Home, "state"), time.Now()); err == nil {
		t.Error("the file is overwritten")
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != clients {
		t.Errorf("%s, %v", now, err)
	}
}

func linesOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
