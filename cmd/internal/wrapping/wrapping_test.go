package wrapping

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const program = "/usr/local/bin/mcp-jail"

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

// variants are ways to write the same file.
var variants = map[string]func(string) string{
	"as it is":        func(s string) string { return s },
	"CRLF":            func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"byte order mark": func(s string) string { return "\ufeff" + s },
	"no last newline": func(s string) string { return strings.TrimRight(s, "\n") },
}

// TestEveryClient wraps and unwraps a file of each client, in the place where the client keeps
// it. The files are shaped like real ones: clients/testdata.
func TestEveryClient(t *testing.T) {
	tried := 0
	for _, c := range clients.All() {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "clients", "testdata", c.Name, "*.*"))
		must(t, err)
		for _, fixture := range files {
			base, ext := filepath.Base(fixture), filepath.Ext(fixture)
			scope, isOne := strings.CutSuffix(base, ext)
			if !isOne || ext == ".txt" || strings.Contains(scope, ".after") {
				continue
			}
			text, err := os.ReadFile(fixture)
			must(t, err)
			for name, vary := range variants {
				tried++
				t.Run(c.Name+"/"+base+"/"+name, func(t *testing.T) {
					h := newHost(t)
					path := placeFile(t, h, c, clients.Scope(scope), vary(string(text)))
					wrapAndUnwrap(t, h, Selection{Clients: []string{c.Name}, Files: []string{path}})
				})
			}
		}
	}
	if tried < 4*len(clients.All()) {
		t.Errorf("%d files were tried", tried)
	}
}

// placeFile writes a file where a client looks for it.
func placeFile(t *testing.T, h clients.Host, c clients.Client, scope clients.Scope, text string) string {
	t.Helper()
	at := slices.IndexFunc(c.Places, func(p clients.Place) bool { return p.Scope == scope })
	loc, ok := c.Places[at].Locate(h)
	if !ok {
		t.Fatalf("%s has no place for %s", c.Name, scope)
	}
	path := loc.File
	if path == "" {
		path = filepath.Join(loc.Dir, strings.ReplaceAll(loc.Pattern, "*", "x"))
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

// wrapAndUnwrap changes a file, looks at it as its client would, and changes it back.
func wrapAndUnwrap(t *testing.T, h clients.Host, sel Selection) {
	t.Helper()
	before := only(t, h, sel)
	text := bytes.Clone(before.own.Data)
	state, program := filepath.Join(h.Home, "state"), filepath.Join(h.Home, "bin", "mcp-jail")
	write(t, program, "")
	change := before.Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil))
	if len(change.Changed()) == 0 {
		t.Fatalf("nothing changes: %q", change.Servers[0].Left)
	}
	backup, err := change.Write(state, time.Now())
	must(t, err)
	if kept, err := os.ReadFile(backup); err != nil || !bytes.Equal(kept, text) {
		t.Errorf("the copy of the file differs: %v", err)
	}
	after := only(t, h, sel)
	repaired := map[string][]string{}
	for i, e := range after.Entries {
		was, p := before.Entries[i], change.Servers[i]
		former, _ := clients.ParseWrapped(was.Argv())
		w, jailed := clients.ParseWrapped(e.Argv())
		switch {
		case p.Left != "":
			if !slices.Equal(e.Argv(), was.Argv()) || e.Left != was.Left {
				t.Errorf("%s was left, and is %q, %s", e.Server, e.Argv(), e.Left)
			}
		case p.Repair != nil:
			if repaired[e.Key()] = append(slices.Clone(former.Launcher), former.Program); w.Program != program || !slices.Equal(w.Flags, former.Flags) || !slices.Equal(w.Argv, former.Argv) {
				t.Errorf("%s is %q, and was %q", e.Server, e.Argv(), was.Argv())
			}
		case !jailed || w.Program != program || w.Name != p.Name || !slices.Equal(w.Argv, was.Argv()) || fmt.Sprint(e.Env, e.Names, e.Cwd) != fmt.Sprint(was.Env, was.Names, was.Cwd):
			t.Errorf("%s is %q, and was %q", e.Server, e.Argv(), was.Argv())
		}
	}
	if again := after.Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)); len(again.Changed()) != 0 {
		t.Error("a wrapped file is wrapped again")
	}
	reflag(t, h, sel)
	after = only(t, h, sel)
	changed := map[string]bool{} // without those that stay as they were
	for _, p := range change.Changed() {
		changed[p.Key()] = true
	}
	_, err = after.change(Selection{}, func(e Entry, _ *ServerChange) (clients.Edit, clients.Reason) {
		if !changed[e.Key()] {
			return clients.Edit{}, NotWrapped
		}
		if words := repaired[e.Key()]; words != nil {
			return clients.Edit{Path: e.Path, Shape: e.Shape, Drop: 1, Words: words}, ""
		}
		edit, err := e.Unwrap()
		must(t, err)
		return edit, ""
	}).Write(state, time.Now())
	must(t, err)
	back, err := os.ReadFile(before.Path)
	must(t, err)
	if !bytes.Equal(back, text) {
		t.Errorf("unwrapped:\n%s\nwant\n%s", back, text)
	}
	if info, err := os.Stat(before.Path); err != nil || info.Mode() != 0o640 {
		t.Errorf("its mode is %s, %v", info.Mode(), err)
	}
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

// TestRefusedEntry: if the editor refuses an entry, the others still change.
func TestRefusedEntry(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"a": {"command": "x"}, "twice": {"command": "y", "args": ["1"], "args": ["2"]}, "c": {"command": "z"}}}`)
	change := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil))
	var left []string
	for _, s := range change.Servers {
		if s.Left != "" {
			left = append(left, s.Server+": "+s.Left)
		}
	}
	if len(left) != 1 || !strings.HasPrefix(left[0], "twice: can be read in two ways (line 1, column 81: the key ") || len(change.Changed()) != 2 || bytes.Count(change.After, []byte(program)) != 2 {
		t.Errorf("%q left\n%s", left, change.After)
	}
}

// TestNames: entries that start one program share a name. Others do not.
func TestNames(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {
		"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
		"taken": {"command": "mcp-jail", "args": ["run", "--name", "other", "--", "npx", "-y", "other"]}, "other": {"command": "mine"}}}`)
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"memory": {"command": "npx", "args": ["@modelcontextprotocol/server-memory@1.0.0"]}}}`)
	write(t, filepath.Join(h.Home, ".codex/config.toml"), "[mcp_servers.memory]\ncommand = \"elsewhere\"\n")
	files, err := Find(h, Selection{})
	must(t, err)
	names := NewNames(files, nil)
	got := map[string]string{}
	for _, f := range files {
		for _, s := range f.Wrap(Program{Path: program}, Selection{}, h, names).Changed() {
			got[f.Client.Name+" "+s.Server] = hashed.ReplaceAllString(s.Name, "-HASH")
		}
	}
	want := map[string]string{"claude-code memory": "memory", "cursor memory": "memory", "codex memory": "memory-codex", "claude-code other": "other-HASH", "claude-code taken": "other"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNamesOfSessions: the name of a server that had a session belongs to its program.
func TestNamesOfSessions(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"same": {"command": "npx", "args": ["-y", "a@2"]}, "other": {"command": "npx", "args": ["-y", "b"]}}}`)
	names := NewNames(nil, map[string][]string{"same": {"npx", "a@1", "--flag"}, "other": {"npx", "c"}})
	var got []string
	for _, s := range only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, names).Changed() {
		got = append(got, s.Name)
	}
	if fmt.Sprint(got) != "[same other-cursor]" {
		t.Error(got)
	}
}

// TestInherited: a path in a variable of the user's environment, which a preset names, is shown
// among the grants.
func TestInherited(t *testing.T) {
	h := newHost(t)
	h.Env = func(name string) string { return map[string]string{"MEMORY_FILE_PATH": h.Home + "/notes/m.json"}[name] }
	must(t, os.Mkdir(filepath.Join(h.Home, "notes"), 0o700))
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"m": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}`)
	p := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)).Servers[0]
	if text := strings.Join(p.Gets, ", "); !strings.Contains(text, h.Home+"/notes (") {
		t.Error(text)
	}
}

// hashed matches the hash of a project in a name.
var hashed = regexp.MustCompile(`-[0-9a-f]{16}$`)

// TestCompare tests which changes of a client since wrap are found.
func TestCompare(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Project, ".mcp.json")
	write(t, path, `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "c": {"command": "z"}}}`)
	state := filepath.Join(h.Home, "state")
	f := only(t, h, Selection{})
	if r, err := f.Backup(state); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	_, err := f.Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)).Write(state, time.Now())
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	text = bytes.Replace(text, []byte(`"y"`), []byte(`"y2"`), 1)
	text = bytes.Replace(text, []byte(`"c"`), []byte(`"d"`), 1)
	must(t, os.WriteFile(path, text, 0o600))
	f = only(t, h, Selection{})
	r, err := f.Backup(state)
	must(t, err)
	since, gone := f.Compare(r)
	if want := map[string]Since{"mcpServers/b": Changed, "mcpServers/d": Added}; fmt.Sprint(since) != fmt.Sprint(want) || fmt.Sprint(gone) != "[mcpServers/c]" {
		t.Errorf("%v, %v", since, gone)
	}
}

// TestChangedMeanwhile: if a client writes the file after it was read, nothing of that is lost.
func TestChangedMeanwhile(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Project, ".mcp.json")
	write(t, path, `{"mcpServers": {"a": {"command": "x"}}}`)
	change := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil))
	const clients = `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`
	write(t, path, clients)
	if _, err := change.Write(filepath.Join(h.Home, "state"), time.Now()); err == nil {
		t.Error("the file is overwritten")
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != clients {
		t.Errorf("%s, %v", now, err)
	}
}
