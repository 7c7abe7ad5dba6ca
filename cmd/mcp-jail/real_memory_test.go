//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var remember = map[string]any{"entities": []map[string]any{{"name": "jail", "entityType": "thing", "observations": []string{"it holds"}}}}

func TestRealMemory(t *testing.T) {
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

// Without MEMORY_FILE_PATH the server writes beside its own code. The failure
// says what to write into a configuration, and that works.
func TestRealMemoryDiagnosed(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	// A copy of the package: the grant at the end makes it writable.
	pkg := filepath.Join(w.base, "node_modules")
	if out, err := w.plain("cp", "-R", filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules"), pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
	grant := lastGrant(t, w, "memory")
	config := filepath.Join(w.base, "c.toml")
	head := "version = 1\n[servers.memory]\ncommand = \"node\"\narguments = [" + strconv.Quote(program) + "]\n"
	must(t, os.WriteFile(config, []byte(head+grant), 0o644))
	s = open(t, w.jail("--config", config, "memory"), nil)
	if r := s.tool("create_entities", remember); r.IsError {
		t.Fatalf("with\n%s\nit still fails: %s\nstderr: %s", head+grant, r.texts(), &s.stderr)
	}
	s.close()
	if got := read(t, filepath.Join(dir, "memory.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
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
