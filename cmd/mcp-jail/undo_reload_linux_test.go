package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestUndoReloaded: undo is switched on, off and on again during a session of a stateless server,
// and its grant changes as well. All changes of the calls with undo are put back.
func TestUndoReloaded(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "stateful = false\n")
	w.plant(t, w.base, map[string]string{"other/y": "y\n"})
	other := filepath.Join(w.base, "other")
	head := testkit.ReadFile(t, config)
	configure := func(keys string) {
		t.Helper()
		must(t, os.WriteFile(config+".new", []byte(head+keys), 0o644))
		must(t, os.Rename(config+".new", config))
	}
	writes := func(dir string) string {
		return fmt.Sprintf("[[servers.agent.tools.run.access.fs]]\npath = %q\nread = true\nexecute = true\ncreate = true\nupdate = true\ndelete = true\n", dir)
	}
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.tools()
	s.mustRun("sh", "-c", "echo off >> a")
	configure("undo = \"session\"\n")
	s.mustRun("sh", "-c", "echo session >> b")
	configure("undo = \"off\"\n")
	s.mustRun("sh", "-c", "echo off >> c")
	configure("undo = \"call\"\nundo_total_mb = 99\n" + writes(other))
	s.mustRun("sh", "-c", "echo call >> "+other+"/y")
	s.close()
	w.noneLeft(t)
	if said := s.stderr.String(); strings.Count(said, `server "agent" made 2 changes in your files`) != 1 {
		t.Errorf("stderr: %s", said)
	}
	if got, want := w.operations(t), "changed "+other+"/y; changed b"; got != want {
		t.Errorf("changes: %s, want %s", got, want)
	}
	w.output(t, "undo", "agent", "--yes")
	for file, want := range map[string]string{"work/a": "a\noff\n", "work/b": "b\n", "work/c": "c\noff\n", "other/y": "y\n"} {
		if got := testkit.ReadFile(t, filepath.Join(w.base, file)); got != want {
			t.Errorf("%s has %q, want %q", file, got, want)
		}
	}
}
