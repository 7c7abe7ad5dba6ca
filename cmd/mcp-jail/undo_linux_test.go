package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// undoWorld returns a world with a workspace that has all the files which agent.sh uses.
func undoWorld(t *testing.T, rounds int, mode string, npm bool) *world {
	w := newWorld(t)
	files := map[string]string{"package/package.json": `{"name":"local","version":"1.0.0"}`, "package/index.js": "module.exports = 1\n", "package.json": `{"name":"work","version":"1.0.0"}`}
	for i := range 40 {
		files[fmt.Sprintf("files/f%d", i)] = fmt.Sprintf("file %d\n%s", i, strings.Repeat("x", i*37))
	}
	for _, name := range []string{"links/one", "links/three", "links/four", "links/mode", "tree/a/b/c", "tree/a/d", "gone/x", "gone/y/z", "same"} {
		files[name] = "this is " + name + "\n"
	}
	files["data/"] = ""
	w.plant(t, w.work, files)
	for _, link := range [][2]string{{"links/one", "links/two"}, {"links/three", "links/three2"}, {"same", "links/outside"}} {
		must(t, os.Link(filepath.Join(w.work, link[0]), filepath.Join(w.work, link[1])))
	}
	must(t, os.Symlink("one", filepath.Join(w.work, "links", "soft")))
	must(t, os.Symlink("/nowhere", filepath.Join(w.work, "links", "dangling")))
	must(t, os.Chmod(filepath.Join(w.work, "files", "f5"), 0o700))
	prepare := `set -e
git init -q -b main .; git config user.name x; git config user.email x@example.com
git add files tree; git commit -q -m one
git checkout -q -b other; git rm -q -r tree; echo other > files/f1; echo o > files/other; git add files; git commit -q -m two; git checkout -q -f main
sqlite3 data/app.db 'create table t (x); insert into t values (1), (2); create table v (z);'`
	out, err := w.plain("sh", "-c", prepare).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := strings.ReplaceAll(source(t, "agent.sh"), "$N", fmt.Sprint(rounds)) + "\n"
	if npm {
		program += "npm install --no-audit --no-fund --loglevel=error --install-links ./package >/dev/null\n"
	}
	script := filepath.Join(w.base, "agent.sh")
	must(t, os.WriteFile(script, []byte(program), 0o644))
	config := fmt.Sprintf("[servers.agent]\ncommand = %q\nworkspace = %q\nundo = %q\n[[servers.agent.access.fs]]\npath = \".\"\nread = true\ncreate = true\nupdate = true\ndelete = true\nexecute = true\n[[servers.agent.access.fs]]\npath = %q\nread = true\n", installed(t, execServer), w.work, mode, script)
	must(t, os.WriteFile(filepath.Join(w.base, "mcp-jail.toml"), []byte(config), 0o644))
	return w
}

// treeOf returns a line for each object of the workspace: mode, content or target, and time.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&out, "%s %v %d:%d", strings.TrimPrefix(path, dir), info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			out.WriteString(" -> " + target)
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			must(t, err)
			sum := sha256.Sum256(b)
			fmt.Fprintf(&out, " %d %s", info.ModTime().UnixNano(), hex.EncodeToString(sum[:8]))
		}
		out.WriteString("\n")
		return nil
	}))
	return out.String()
}

// differences returns the lines that only one of two snapshots has.
func differences(a, b string) (out []string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, l := range as {
		if !slices.Contains(bs, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range bs {
		if !slices.Contains(as, l) {
			out = append(out, "+ "+l)
		}
	}
	return out
}

// agent has the server run the script in a call.
func (w *world) agent(t *testing.T) {
	t.Helper()
	s := open(t, w.jail("--config", filepath.Join(w.base, "mcp-jail.toml"), "agent"), nil)
	s.mustRun("sh", filepath.Join(w.base, "agent.sh"))
	s.close()
	if !strings.Contains(s.stderr.String(), "mcp-jail undo agent") {
		t.Errorf("the end of the session does not name mcp-jail undo:\n%s", s.stderr.String())
	}
	w.noneLeft(t)
}

// eachUser runs a test as root, if that is the caller, and as an ordinary user.
func eachUser(t *testing.T, rounds int, mode string, test func(t *testing.T, w *world)) {
	need(t, "jail", "git", "npm", "sqlite3")
	for _, user := range []string{"the caller", "an ordinary user", "without namespaces"} {
		if user == "an ordinary user" && os.Getuid() != 0 {
			continue
		}
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			w := undoWorld(t, rounds, mode, user == "the caller" || testkit.Long()) // npm alone takes longer than all else
			switch user {
			case "an ordinary user":
				w.asOrdinaryUser(t)
			case "without namespaces":
				config := filepath.Join(w.base, "mcp-jail.toml")
				text := strings.Replace(testkit.ReadFile(t, config), "command =", "waive = [\"fs\", \"process\", \"limits\"]\ncommand =", 1)
				must(t, os.WriteFile(config, []byte(text), 0o644))
				w.around = withoutUserns
			}
			test(t, w)
		})
	}
}

// rounds returns how often a test repeats something: short, and in make test-long long.
func rounds(short, long int) int {
	if testkit.Long() {
		return long
	}
	return short
}

func (w *world) mustBe(t *testing.T, what, before string) {
	t.Helper()
	if diff := differences(before, treeOf(t, w.work)); len(diff) > 0 {
		t.Errorf("%s: %d lines differ:\n%s", what, len(diff), strings.Join(diff[:min(len(diff), 40)], "\n"))
	}
}

// TestUndoWorstHour: all that an agent has done in a call is undone byte for byte, and the undo as well.
func TestUndoWorstHour(t *testing.T) {
	t.Parallel()
	eachUser(t, rounds(24, 1000), "session", func(t *testing.T, w *world) {
		before := treeOf(t, w.work)
		w.agent(t)
		after := treeOf(t, w.work)
		if n := len(differences(before, after)); n < 100 {
			t.Fatalf("the agent has changed %d lines only", n)
		}
		if out := w.output(t, "undo", "--list", "agent"); !strings.Contains(out, "made ") || !strings.Contains(out, "and ") {
			t.Errorf("undo --list says\n%s", out)
		}
		if out := w.output(t, "why", "agent"); !strings.Contains(out, "mcp-jail undo agent") {
			t.Errorf("the record does not name mcp-jail undo:\n%s", out)
		}
		out := w.output(t, "undo", "agent", "--yes")
		w.mustBe(t, "undone", before)
		_, line, ok := strings.Cut(out, "To undo this:\n  mcp-jail ")
		if !ok {
			t.Fatalf("undo does not say how to undo it:\n%s", out[max(0, len(out)-2000):])
		}
		w.output(t, append(strings.Fields(line), "--yes")...)
		w.mustBe(t, "the undo undone", after)
	})
}

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
	if said := s.stderr.String(); strings.Count(said, `agent made 2 changes in your files`) != 1 {
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
			s.mustFail("invalid cross-device link", "rename", "d", "moved")
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
