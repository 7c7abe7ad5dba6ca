//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var remember = map[string]any{"entities": []map[string]any{{"name": "jail", "entityType": "thing", "observations": []string{"it holds"}}}}

func TestServerMemory(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "m.jsonl"))
	for session := range 2 { // what the first remembers, the second knows
		s := open(t, w.jail("--env", "MEMORY_FILE_PATH", "--", "node", server(memory)), nil)
		if session == 0 {
			if r := s.tool("create_entities", remember); r.IsError {
				t.Errorf("create_entities: %s", r.texts())
			}
			if tools := s.tools(); len(tools) != 9 {
				t.Errorf("the server has %d tools: %q", len(tools), tools)
			}
		}
		if r := s.tool("search_nodes", map[string]any{"query": "hold"}); r.IsError || !strings.Contains(r.texts(), "it holds") {
			t.Errorf("session %d: search_nodes: %s", session, r.texts())
		}
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d", status)
		}
	}
	if got := read(t, filepath.Join(w.work, "m.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
	}
}

// Without MEMORY_FILE_PATH the server writes beside its own code, which no line may grant:
// the failure says that the file has to lie elsewhere, and that works.
func TestServerMemoryDiagnosed(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	pkg := filepath.Join(w.base, "node_modules")
	w.copyPackage(t, pkg, memory)
	program := filepath.Join(pkg, memory, "dist", "index.js")
	dir := filepath.Dir(program)

	s := open(t, w.jail("--name", "memory", "--", "node", program), nil)
	r := s.tool("create_entities", remember)
	s.close()
	if !r.IsError || !strings.Contains(r.texts(), "[mcp-jail]") || !strings.Contains(r.texts(), dir) || r.Meta["dev.mcp-jail/denials"] == nil {
		t.Fatalf("the failure does not explain itself: %s", r.raw)
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.jsonl")); err == nil {
		t.Fatal("it wrote beside its own code")
	}
	// It renames a new file to the old one, which takes the directory of its program: no
	// line grants that, and what the words say in its place works.
	if d := w.why(t, "memory"); len(d.Grant) > 0 || !strings.Contains(d.Fix, "in a directory of its own") || !strings.Contains(d.Fix, filepath.Base(program)) {
		t.Fatalf("it proposes %q: %s", d.Grant, d.Fix)
	}
	w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "memory.jsonl"))
	s = open(t, w.jail("--name", "memory", "--env", "MEMORY_FILE_PATH", "--", "node", program), nil)
	if r := s.tool("create_entities", remember); r.IsError {
		t.Fatalf("it still fails: %s\nstderr: %s", r.texts(), &s.stderr)
	}
	s.close()
	if got := read(t, filepath.Join(w.work, "memory.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
	}
}

// copyPackage copies an installed package and the packages that it depends on to the
// directory modules, so that an ordinary user may write to them.
func (w *world) copyPackage(t *testing.T, modules, name string) {
	t.Helper()
	to := filepath.Join(modules, name)
	if pathExists(to) {
		return
	}
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if out, err := w.plain("cp", "-R", module(name), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var manifest struct{ Dependencies map[string]string }
	must(t, json.Unmarshal([]byte(read(t, filepath.Join(to, "package.json"))), &manifest))
	for dependency := range manifest.Dependencies {
		if pathExists(module(dependency)) { // else it is in the package itself
			w.copyPackage(t, modules, dependency)
		}
	}
}

// lastGrant is the lines that `why` has for the last failure of a server.
func lastGrant(t *testing.T, w *world, server string) string {
	t.Helper()
	d := w.why(t, server)
	if len(d.Grant) == 0 {
		t.Fatalf("no line that would grant it: %+v", d)
	}
	return strings.Join(d.Grant, "\n") + "\n"
}
