package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestUndoMovedAway: undo puts back files that the server moves or links to a place whose changes
// are not kept, and changes or removes there.
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

// TestUndoOfNothing: nothing is kept of a server that has changed nothing, in a session or in a
// trial.
func TestUndoOfNothing(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "undo = \"session\"\n")
	store := filepath.Join(w.home, ".local", "state", "mcp-jail", "servers", "agent", "undo")
	for _, session := range []func(){
		func() { open(t, w.jail("--config", config, "agent"), nil).close() },
		func() { w.output(t, "check", "--config", config, "--probe") },
	} {
		session()
		if dirs, err := os.ReadDir(store); err != nil || len(dirs) > 0 {
			t.Errorf("the store has %v %v", dirs, err)
		}
		if out, err := w.mcpJail("changes", "agent").CombinedOutput(); err == nil || strings.Contains(string(out), "something") {
			t.Errorf("%v %s", err, out)
		}
	}
}

// TestUndoGivesNoPrivilege: a server takes the set-id bits from a program, fills the journal, and
// then writes a program of its own of the same size and time. Undo gives that no bits, and does not
// call it done. The control is the jail, in which the server cannot set the bits itself.
func TestUndoGivesNoPrivilege(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "undo = \"session\"\nundo_total_mb = 1\n")
	text := testkit.ReadFile(t, config) + fmt.Sprintf("[[servers.agent.access.fs]]\npath = %q\nread = true\ncreate = true\nupdate = true\ndelete = true\nexecute = true\n", w.work)
	must(t, os.WriteFile(config, []byte(text), 0o644))
	file := filepath.Join(w.work, "a")
	must(t, os.Chmod(file, 0o755|os.ModeSetuid))
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.mustRun("sh", "-c", "touch -r a $HOME/time && chmod 755 a && ! chmod 4755 a && sleep 2.5")
	s.mustRun("sh", "-c", "i=0; while [ $i -lt 3000 ]; do : > d/n$i; i=$((i + 1)); done; printf 'S\\n' 1<>a; touch -r $HOME/time a")
	s.close()
	out, err := w.mcpJail("undo", "agent", "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not known that it is still the same") {
		t.Errorf("%v %s", err, out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o755 || testkit.ReadFile(t, file) != "S\n" {
		t.Errorf("%v, it has mode %v and %q", err, info.Mode(), testkit.ReadFile(t, file))
	}
}
