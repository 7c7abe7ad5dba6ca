//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var remember = map[string]any{"entities": []map[string]any{{"name": "jail", "entityType": "thing", "observations": []string{"it holds"}}}}

// TestServerMemoryDiagnosed tests the memory server without MEMORY_FILE_PATH. It then
// writes beside its own code, which no rule may grant. The diagnosis says to keep the
// file elsewhere, and that works, also in the next session.
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
	// The server replaces its file by a rename, which needs write access to the directory of
	// its program. No rule may grant that, so the diagnosis has a fix instead of a grant.
	if d := w.why(t, "memory"); len(d.Grant) > 0 || !strings.Contains(d.Fix, "in a directory of its own") || !strings.Contains(d.Fix, filepath.Base(program)) {
		t.Fatalf("it proposes %q: %s", d.Grant, d.Fix)
	}
	w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "memory.jsonl"))
	for session := range 2 { // the second session reads the file of the first
		s = open(t, w.jail("--name", "memory", "--env", "MEMORY_FILE_PATH", "--", "node", program), nil)
		if session == 0 {
			if r := s.tool("create_entities", remember); r.IsError {
				t.Fatalf("it still fails: %s\nstderr: %s", r.texts(), &s.stderr)
			}
		}
		if r := s.tool("search_nodes", map[string]any{"query": "hold"}); r.IsError || !strings.Contains(r.texts(), "it holds") {
			t.Errorf("session %d: search_nodes: %s", session, r.texts())
		}
		s.close()
	}
	if got := testkit.ReadFile(t, filepath.Join(w.work, "memory.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
	}
}
