//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAdviceGranted starts the official filesystem server with a directory that is not
// granted. The client gets the cause and the flags to add, and mcp-jail grant takes them. A second directory that the server skips is diagnosed, too.
func TestAdviceGranted(t *testing.T) {
	need(t, "npm", "jail")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.home, map[string]string{"my notes/docs/a.txt": "in the docs"})
	docs := filepath.Join(w.home, "my notes", "docs")
	note := map[string]any{"path": filepath.Join(docs, "a.txt")}
	argv := []string{"node", server(filesystem), docs}

	s := start(t, w.jail(append([]string{"--name", "files", "--"}, argv...)...))
	m := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	for _, want := range []string{`"attribution":"likely"`, `~/my notes/docs`, `mcp-jail grant files --last`} {
		if !strings.Contains(string(m.Error), want) {
			t.Errorf("the answer lacks %s: %s", want, m.Error)
		}
	}
	s.close()
	if got := s.stderr.String(); !strings.Contains(got, "warning: the server cannot reach what its arguments and variables name") {
		t.Errorf("no warning at the start: %s", got)
	}
	if strings.Contains(string(m.Error), server(filesystem)) {
		t.Errorf("the arguments are told to the client: %s", m.Error)
	}

	var record struct{ Diagnoses []struct{ Words []string } }
	must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", "files")), &record))
	w.output(t, append(append([]string{"grant", "files"}, record.Diagnoses[0].Words...), "--yes")...)
	s = open(t, w.jail(append([]string{"--name", "files", "--"}, argv...)...), nil)
	if got := s.tool("read_text_file", note); got.IsError || !strings.Contains(got.texts(), "in the docs") {
		t.Errorf("%q: %s", record.Diagnoses[0].Words, got.texts())
	}
	if status := s.close(); status != 0 || strings.Contains(s.stderr.String(), "not granted") {
		t.Errorf("status %d, %s", status, &s.stderr)
	}

	s = open(t, w.jail(append([]string{"--name", "two", "--"}, append(argv, w.work)...)...), nil)
	s.tools()
	testkit.Eventually(t, "the complaint is told", func() bool { return strings.Contains(s.stderr.String(), "has started, and complains on stderr") })
	s.close()
	if got := w.output(t, "why", "two"); !strings.Contains(got, `"~/my notes/docs"`) || !strings.Contains(got, "mcp-jail grant two --last") {
		t.Errorf("why says %s", got)
	}
}

// TestAdviceExecute tests that the proposed flag lets the server start a script of the
// workspace.
func TestAdviceExecute(t *testing.T) {
	need(t, "jail", "python3")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"build.sh": "#!/bin/sh\necho built\n"})
	must(t, exec.Command("chmod", "+x", filepath.Join(w.work, "build.sh")).Run())
	argv := []string{"--", "/usr/bin/python3", w.fixture(t, "exec.py")}
	run := map[string]any{"argv": []string{"./build.sh"}}
	s := open(t, w.jail(append([]string{"--name", "build"}, argv...)...), nil)
	got := s.tool("run", run)
	if !got.IsError || !strings.Contains(got.texts(), "mcp-jail grant build --last") {
		t.Errorf("refused: %s", got.texts())
	}
	s.close()
	w.output(t, "grant", "build", "--last", "--yes")
	s = open(t, w.jail(append([]string{"--name", "build"}, argv...)...), nil)
	if got := s.tool("run", run); got.IsError || !strings.Contains(got.texts(), "built") {
		t.Error(got.texts())
	}
	s.close()
}

// TestAdvicePasted tests that a call which fails for a missing right explains that in the
// result, in the record and on stderr, and that what it proposes works.
func TestAdvicePasted(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"work/in.txt": "in here", "notes/n.txt": "noted"})
	config := filepath.Join(w.base, "c.toml")
	note := filepath.Join(w.base, "notes", "n.txt")
	text := "version = 1\n\n[servers.files]\ncommand = \"node\"\narguments = [" + strconv.Quote(server(oldFilesystem)) + ", \"/\"]\nworkspace = " + strconv.Quote(w.work) + "\n"
	must(t, os.WriteFile(config, []byte(text), 0o644))

	s := open(t, w.jail("--config", config, "files"), nil)
	r := s.tool("read_file", map[string]any{"path": note})
	var raw struct {
		Content []struct{ Type, Text string }
		Meta    map[string][]map[string]any `json:"_meta"`
	}
	must(t, json.Unmarshal(r.raw, &raw))
	if !r.IsError || len(raw.Content) != 2 || !strings.HasPrefix(raw.Content[1].Text, "\n[mcp-jail]") || !strings.Contains(raw.Content[1].Text, filepath.Dir(note)) {
		t.Fatalf("the failure does not explain itself: %s", r.raw)
	}
	if len(raw.Meta) != 0 { // a read of a hidden file is no recorded denial
		t.Errorf("_meta tells of nothing: %s", r.raw)
	}
	if r := s.tool("read_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError || len(r.Meta) != 0 {
		t.Errorf("the session goes on, and says nothing where nothing is wrong: %s", r.raw)
	}
	s.close()
	if !strings.Contains(s.stderr.String(), filepath.Dir(note)) {
		t.Errorf("stderr does not name %s: %s", note, &s.stderr)
	}

	if !strings.HasSuffix(raw.Content[1].Text, "mcp-jail grant files --last") {
		t.Fatalf("no command: %s", raw.Content[1].Text)
	}
	lines := "[servers.files.access]\nworkspace = \"write\"\n" + lastGrant(t, w, "files")
	must(t, os.WriteFile(config, []byte(text+"\n"+lines+"\n"), 0o644))
	w.output(t, "check", config)
	s = open(t, w.jail("--config", config, "files"), nil)
	for _, file := range []string{note, filepath.Join(w.work, "in.txt")} {
		if r := s.tool("read_file", map[string]any{"path": file}); r.IsError {
			t.Errorf("with\n%s\n%s", lines, r.texts())
		}
	}
	if r := s.tool("write_file", map[string]any{"path": note, "content": "x"}); !r.IsError {
		t.Error("more was granted than was asked for")
	}
	s.close()
}
