package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestUndoMovedAway: undo puts back files that the server moves or links to a place whose changes
// are not kept, and changes or removes there. A directory
// that is not empty cannot be renamed, so mv copies it.
func TestUndoMovedAway(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{"namespaces": "", "without namespaces": "waive = [\"fs\", \"process\", \"limits\"]\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, config := execWorld(t, "undo = \"session\"\n"+keys)
			text := testkit.ReadFile(t, config) + fmt.Sprintf("[[servers.agent.access.fs]]\npath = %q\nread = true\ncreate = true\nupdate = true\ndelete = true\nexecute = true\n", w.work)
			must(t, os.WriteFile(config, []byte(text), 0o644))
			if keys != "" {
				w.around = withoutUserns
			}
			s := open(t, w.jail("--config", config, "agent"), nil)
			s.mustFail("EXDEV", "node", "-e", "require('fs').renameSync('d', 'moved')")
			s.mustRun("sh", "-c", "mkdir e; mv e f; rmdir f; mv d moved; mv moved d")
			s.mustRun("sh", "-c", "mv a $HOME/p; echo server > $HOME/p; rm $HOME/p")
			s.mustRun("sh", "-c", "ln b $HOME/q; echo server > $HOME/q; true")
			s.mustRun("sh", "-c", "mv d $HOME/d; echo server > $HOME/d/x; rm -r $HOME/d")
			s.mustRun("sh", "-c", "mv c ${TMPDIR:-/tmp}/c; echo server > ${TMPDIR:-/tmp}/c; rm ${TMPDIR:-/tmp}/c")
			s.close()
			w.noneLeft(t)
			out, err := w.mcpJail("undo", "agent", "--yes").CombinedOutput()
			if err != nil {
				t.Errorf("%v %s", err, out)
			}
			for file, want := range map[string]string{"a": "a\n", "b": "b\n", "c": "c\n", "d/x": "x\n"} {
				if got := testkit.ReadFile(t, filepath.Join(w.work, file)); got != want {
					t.Errorf("%s has %q, want %q", file, got, want)
				}
			}
		})
	}
}
