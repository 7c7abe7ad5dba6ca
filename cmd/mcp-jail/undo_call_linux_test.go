package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// execWorld returns a world whose server "agent" runs programs, and the file of its
// configuration.
func execWorld(t *testing.T, keys string) (w *world, config string) {
	t.Helper()
	w = newWorld(t)
	w.plant(t, w.work, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n", "d/x": "x\n"})
	config = filepath.Join(w.base, "c.toml")
	text := fmt.Sprintf("[servers.agent]\ncommand = %q\n%s", installed(t, execServer), keys)
	must(t, os.WriteFile(config, []byte(text), 0o644))
	return w, config
}

// operations returns the changes that undo --list shows of a server, as "made name".
func (w *world) operations(t *testing.T, args ...string) string {
	t.Helper()
	var out []string
	for block := range strings.SplitSeq(w.output(t, append([]string{"undo", "--list", "agent"}, args...)...), "\n\n") {
		for line := range strings.Lines(block) {
			row := strings.Fields(strings.NewReplacer(w.work+"/", "", " ->", "").Replace(line))
			if !strings.Contains(block, "the undo of") && len(row) > 1 && slices.Contains([]string{"made", "changed", "removed"}, row[0]) {
				call := slices.Index(row, "(call")
				if call < 0 {
					call = len(row)
				}
				out = append(out, strings.Join(row[:call], " "))
			}
		}
	}
	return strings.Join(out, "; ")
}

// TestUndoCall: a call is undone, and the others stay.
func TestUndoCall(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{
		"stateful":       "undo = \"call\"\n",
		"stateless":      "stateful = false\nundo = \"call\"\n",
		"stateless warm": "stateful = false\nwarm = 2\nundo = \"session\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, config := execWorld(t, keys)
			before := treeOf(t, w.work)
			first, err := os.Stat(filepath.Join(w.work, "a"))
			must(t, err)
			s := open(t, w.jail("--config", config, "agent"), nil)
			s.tools()
			s.mustRun("sh", "-c", "echo one >> a; echo new > new; echo own > $HOME/own; echo t > /tmp/t")
			s.mustRun("sh", "-c", "echo two >> b; rm c")
			between := treeOf(t, w.work)
			s.mustRun("sh", "-c", "echo three >> b; echo other > new; mv d/x e")
			s.close()
			w.noneLeft(t)
			if got, want := w.operations(t, "--call", "3"), "changed b; removed d/x; made e; changed new"; got != want {
				t.Errorf("call 3: %s, want %s", got, want)
			}
			if got, want := w.operations(t), "changed a; changed b; removed c; removed d/x; made e; made new"; got != want {
				t.Errorf("the session: %s, want %s", got, want)
			}
			out, err := w.mcpJail("undo", "agent", "--call", "1", "--yes").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "/new: it was changed by a later call") {
				t.Errorf("the undo of a file that a later call has changed: %v %s", err, out)
			}
			if text := testkit.ReadFile(t, filepath.Join(w.work, "a")); text != "a\n" {
				t.Errorf("a has %q", text)
			}
			must(t, os.WriteFile(filepath.Join(w.work, "a"), []byte("a\none\n"), 0o644))
			w.output(t, "undo", "agent", "--call", "3", "--yes")
			a := filepath.Join(w.work, "a")
			if got := differences(strings.ReplaceAll(between, a, ""), treeOf(t, w.work)); len(got) != 2 { // the time of a
				t.Errorf("after the undo of call 3: %s", strings.Join(got, "\n"))
			}
			must(t, os.WriteFile(a, []byte("a\n"), 0o644)) // as before
			must(t, os.Chtimes(a, time.Time{}, first.ModTime()))
			w.output(t, "undo", "agent", "--yes")
			w.mustBe(t, "undone", before)
		})
	}
}

// TestUndoDuringSession: changes of the user while the server runs stay, and files that the
// server has finished with can be put back.
func TestUndoDuringSession(t *testing.T) {
	t.Parallel()
	t.Run("namespaces", func(t *testing.T) {
		t.Parallel()
		w, config := execWorld(t, "undo = \"session\"\n")
		undoDuringSession(t, w, config)
	})
	t.Run("without namespaces", func(t *testing.T) {
		t.Parallel()
		w, config := execWorld(t, "undo = \"session\"\nwaive = [\"fs\", \"process\", \"limits\"]\n")
		w.around = withoutUserns
		undoDuringSession(t, w, config)
	})
}

func undoDuringSession(t *testing.T, w *world, config string) {
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.mustRun("sh", "-c", "echo server >> a; echo server >> b; rm c")
	// A process keeps a file open over the end of the call, in which it has written it.
	s.mustRun("sh", "-c", "(exec 3>>d/x; echo more >&3; until [ -e enough ]; do sleep 0.1; done) >/dev/null 2>&1 & until grep -q more d/x; do sleep 0.01; done")
	must(t, os.WriteFile(filepath.Join(w.work, "b"), []byte("user's\n"), 0o644))
	out, err := w.mcpJail("undo", "agent", "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/b: it was changed after the server's last change") {
		t.Errorf("%v %s", err, out)
	}
	for name, want := range map[string]string{"a": "a\n", "b": "user's\n", "c": "c\n", "d/x": "x\n"} {
		if got := testkit.ReadFile(t, filepath.Join(w.work, name)); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	must(t, os.WriteFile(filepath.Join(w.work, "enough"), nil, 0o644))
	// The server changes what was put back, and what the user wrote.
	s.mustRun("sh", "-c", "echo again >> a; echo again >> b")
	s.close()
	w.noneLeft(t)
	if out := w.output(t, "undo", "--list", "agent"); !strings.Contains(out, "/b  (changed by others meanwhile)") {
		t.Errorf("undo --list says\n%s", out)
	}
	if out, err := w.mcpJail("undo", "agent", "--yes").CombinedOutput(); err == nil || !strings.Contains(string(out), "their version comes back") {
		t.Errorf("%v %s", err, out)
	}
	for name, want := range map[string]string{"a": "a\n", "b": "user's\n", "c": "c\n", "d/x": "x\n"} {
		if got := testkit.ReadFile(t, filepath.Join(w.work, name)); got != want {
			t.Errorf("at the end %s has %q, want %q", name, got, want)
		}
	}
}

// TestUndoStoreIsHidden: the server sees no file of the store of undo, not even where its grant
// has it.
func TestUndoStoreIsHidden(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "")
	text := testkit.ReadFile(t, config) + fmt.Sprintf("undo = \"session\"\n[[servers.agent.access.fs]]\npath = %q\nread = true\ncreate = true\nupdate = true\ndelete = true\nexecute = true\n", w.base)
	must(t, os.WriteFile(config, []byte(text), 0o644))
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.mustRun("sh", "-c", "echo changed >> "+filepath.Join(w.work, "a"))
	store := filepath.Join(w.home, ".local", "state", "mcp-jail", "servers", "agent", "undo")
	if dirs, _ := filepath.Glob(store + "/*/journal"); len(dirs) != 1 {
		t.Fatalf("the store has %q", dirs)
	}
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	s.mustRun("sh", "-c", "ls "+w.home) // control
	s.mustFail("No such file", "sh", "-c", "ls "+store)
	s.mustFail("nonexistent", "sh", "-c", "echo x > "+store+"/x")
	s.mustFail("no descriptor", "sh", "-c", "ls -l /proc/[0-9]*/fd | grep -F /journal || { echo no descriptor; false; }")
	s.close()
}

// TestUndoFullDisk: an undo of a call that a full disk ends in the middle of a file says so, and names the commands that
// bring back what was there before, and what was there now.
func TestUndoFullDisk(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "undo = \"call\"\n")
	large := strings.Repeat("user's ", 20<<10)
	w.plant(t, w.work, map[string]string{"a": large})
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.mustRun("sh", "-c", "echo server > a")
	s.close()
	w.noneLeft(t)
	w.around = func(cmd *exec.Cmd) *exec.Cmd { // no file gets longer than 64 or 128 KB, by the shell's blocks
		cmd.Args = append([]string{"sh", "-c", `ulimit -f 128; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		return cmd
	}
	out, err := w.mcpJail("undo", "agent", "--call", "1", "--yes").CombinedOutput()
	if w.around = nil; err == nil || !strings.Contains(string(out), "/work/a is half restored; run it again: ") {
		t.Fatalf("undo on a full disk: %v %s", err, out)
	}
	for _, tt := range []struct{ title, want string }{{"To undo this:", "server\n"}, {"To run it again:", large}} {
		_, line, ok := strings.Cut(string(out), tt.title+"\n  mcp-jail ")
		if line, _, _ = strings.Cut(line, "\n"); !ok {
			t.Fatalf("%s is not there:\n%s", tt.title, out)
		}
		w.output(t, append(strings.Fields(line), "--yes")...)
		if got := testkit.ReadFile(t, filepath.Join(w.work, "a")); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.title, len(got), len(tt.want))
		}
	}
}

// TestUndoSaysWhatIsUnknown: if the journal of a session is damaged, undo says that
// not everything is known. It also says so if a session, call or path does not exist.
func TestUndoSaysWhatIsUnknown(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "undo = \"call\"\n")
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.mustRun("sh", "-c", "echo server > a")
	s.close()
	w.noneLeft(t)
	for _, args := range [][]string{
		{"undo", "--list", "agent", "--session", "nope"}, {"undo", "--list", "--call", "77"},
		{"undo", "agent", "--session", "nope"}, {"undo", "agent", "--call", "77"}, {"undo", "agent", filepath.Join(w.work, "none"), "--yes"},
	} {
		if out, err := w.mcpJail(args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "mcp-jail undo --list") {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
	if out := w.output(t, "undo", "--list", "agent"); strings.Contains(out, "everything is known") {
		t.Errorf("control: undo --list says\n%s", out)
	}
	journals, _ := filepath.Glob(filepath.Join(w.home, ".local", "state", "mcp-jail", "servers", "agent", "undo", "*", "journal"))
	if len(journals) != 1 {
		t.Fatalf("the store has %q", journals)
	}
	must(t, os.WriteFile(journals[0], []byte(testkit.ReadFile(t, journals[0])+"{17"), 0o600))
	if out := w.output(t, "undo", "--list", "agent"); !strings.Contains(out, "everything is known") || !strings.Contains(out, "/work/a") {
		t.Errorf("undo --list says\n%s", out)
	}
	out, err := w.mcpJail("undo", "agent", "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/work/a: what is stored of this session is damaged") || !strings.Contains(string(out), "everything is known") {
		t.Errorf("undo: %v %s", err, out)
	}
	if got := testkit.ReadFile(t, filepath.Join(w.work, "a")); got != "server\n" {
		t.Errorf("a has %q", got)
	}
}

// TestUndoTellsWhatGoes: stderr names a session that is removed to make room, and the last one
// stays. What there is no room for is not changed.
func TestUndoTellsWhatGoes(t *testing.T) {
	t.Parallel()
	w, config := execWorld(t, "undo = \"session\"\nundo_total_mb = 1\n")
	must(t, os.WriteFile(filepath.Join(w.work, "big"), make([]byte, 2<<20), 0o644))
	for i := range 2 {
		must(t, os.WriteFile(filepath.Join(w.work, "b"), []byte(strings.Repeat("0123456789abcde\n", 40<<10)), 0o644))
		s := open(t, w.jail("--config", config, "agent"), nil)
		s.mustFail("No space left", "sh", "-c", "echo server > big")
		s.mustRun("sh", "-c", "echo server > b")
		s.close()
		if !strings.Contains(s.stderr.String(), "undo_total_mb") {
			t.Errorf("session %d: %s", i+1, s.stderr.String())
		}
		w.noneLeft(t)
		if told := strings.Contains(s.stderr.String(), "was removed"); told != (i > 0) {
			t.Errorf("session %d: %s", i+1, s.stderr.String())
		}
	}
	if n := strings.Count(w.output(t, "undo", "--list", "agent"), "(session "); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
	w.output(t, "undo", "agent", "--yes")
	if got := testkit.ReadFile(t, filepath.Join(w.work, "b")); len(got) != 640<<10 {
		t.Errorf("b has %d bytes", len(got))
	}
}
