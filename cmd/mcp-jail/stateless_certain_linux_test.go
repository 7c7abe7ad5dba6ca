package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStatelessCertainReads: a server that says nothing of the file that it cannot read gets a possible
// cause. The next call of the tool has the file and its line. No other process records what it reads,
// and none does after a call that went well.
func TestStatelessCertainReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"granted/file": "a note", "other/file": "secret", "other/quiet": "secret"})
	s := w.statelessSession(t, w.copySelf(t, "vague"), `
[servers.s.tools.load]
warm = 1
[[servers.s.tools.load.access.fs]]
path = "granted"
read = true
[[servers.s.tools.quiet.access.fs]]
path = "granted"
read = true
`)
	file, granted, quiet := filepath.Join(w.work, "other/file"), filepath.Join(w.work, "granted/file"), filepath.Join(w.work, "other/quiet")
	const possible, certain = "may have blocked", "may not read"
	for i, c := range []struct{ tool, arg, says string }{
		{"quiet", quiet, "done"},
		{"load", file, possible},
		{"quiet", quiet, "done"},
		{"load", file, certain + " other/file"},
		{"load", file, possible}, // its cause was certain, so this one is an ordinary process
		{"load", granted, "loaded a note"},
		{"load", file, possible}, // the call before went well
		{"load", file, certain + " other/file"},
	} {
		r := s.tool(c.tool, map[string]any{"arg": c.arg})
		text := r.texts()
		if !strings.Contains(text, c.says) || c.says != possible && strings.Contains(text, possible) || strings.HasPrefix(c.says, certain) != strings.Contains(text, "other/file") {
			t.Errorf("call %d: %s, want %q", i, text, c.says)
		}
	}
	s.close()
	var record struct {
		Denials []struct{ Tool, Target, Operation string }
	}
	testkit.Must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", "s")), &record))
	found := false
	for _, d := range record.Denials {
		if found = found || d.Target == file; d.Tool != "load" || d.Target == quiet {
			t.Errorf("on record: %+v", d)
		}
	}
	if !found {
		t.Errorf("%s is not on record: %+v", file, record)
	}
	w.noneLeft(t)
}
