//go:build linux

package main

import (
	"regexp"
	"strconv"
	"testing"
)

// TestServerThinking plays a session with the official sequential-thinking server,
// without and with a jail, and compares.
func TestServerThinking(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	var script []step
	for i := range 3 {
		script = append(script, step{"sequentialthinking", map[string]any{
			"thought": "thought " + strconv.Itoa(i), "nextThoughtNeeded": i < 2, "thoughtNumber": i + 1, "totalThoughts": 3,
		}})
	}
	s := open(t, w.plain("node", server(thinking)), nil)
	plain := callTools(s, script)
	s.close()
	s = open(t, w.jail("--", "node", server(thinking)), nil)
	compareResults(t, script, plain, callTools(s, script))
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if !regexp.MustCompile(`thought 2`).MatchString(s.stderr.String()) {
		t.Errorf("its stderr did not pass: %q", &s.stderr)
	}
	if files := snapshot(t, w.work); len(files) != 1 {
		t.Errorf("the session left something in the workspace: %q", files)
	}
}
