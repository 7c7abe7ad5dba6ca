package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUndoRandom: what a server does at random, in a real jail, is undone, and the undo as well. In every other session
// the user edits files meanwhile: no undo takes away what the user has written there last, and what does not come back
// is named. The model of package undo tries more such sessions, without a jail.
func TestUndoRandom(t *testing.T) {
	t.Parallel()
	need(t, "jail", "/usr/bin/python3")
	for seed := range uint64(rounds(8, 400)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, r := newWorld(t), rand.New(rand.NewPCG(seed, 5))
			t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", w.work).Run() })
			w.plant(t, w.work, map[string]string{"a": "1", "b": "2", "d/a": "3", "d/e/b": "4", "d/e/c": "5", "f/": "", "m/n": "6", "m/o": "7"})
			must(t, os.Symlink("d", filepath.Join(w.work, "l")))
			keys := []string{"undo = \"session\"\n", "undo = \"call\"\n", "stateful = false\nundo = \"session\"\n"}[r.IntN(3)]
			switch {
			case seed%4 == 1 && os.Getuid() == 0:
				defer w.asOrdinaryUser(t)
			case seed%4 == 2:
				keys += "waive = [\"fs\", \"process\", \"limits\"]\n"
				w.around = withoutUserns
			}
			config := filepath.Join(w.base, "c.toml")
			must(t, os.WriteFile(config, []byte(fmt.Sprintf("[servers.agent]\ncommand = \"/usr/bin/python3\"\narguments = [%q]\n%s", w.fixture(t, "disorder.py"), keys)), 0o644))
			w.disorder(t, r, config, seed%2 == 1)
		})
	}
}

// disorder runs a random session, with edits of the user if edits is set, and undoes it.
func (w *world) disorder(t *testing.T, r *rand.Rand, config string, edits bool) {
	before, edited := treeOf(t, w.work), map[string]string{}
	edit := func() {
		names := []string{"a", "b", "d/a", "d/e/b", "f/x", "m/n", "own"}
		name, text := names[r.IntN(len(names))], fmt.Sprint("user's ", r.Uint32())
		for _, gone := range names[:4] { // what the server has moved away is made anew
			if _, err := os.Lstat(filepath.Join(w.work, gone)); err != nil {
				name = gone
			}
		}
		if edits && w.isFree(name) && w.plain("sh", "-c", "rm -f "+name+" && printf %s \"$0\" > "+name, text).Run() == nil {
			edited[name] = text
		}
	}
	s := open(t, w.jail("--config", config, "agent"), nil)
	for range 1 + r.IntN(4) {
		s.mustRun(fmt.Sprint(r.Uint32()), fmt.Sprint(1+r.IntN(20)))
		edit()
	}
	s.close()
	edit()
	w.noneLeft(t)
	after := treeOf(t, w.work)
	said, err := w.mcpJail("undo", "agent", "--yes").CombinedOutput()
	switch {
	case edits:
		w.checkEdited(t, before, after, string(said), edited)
		return
	case err != nil && !strings.Contains(string(said), "no changes of agent"): // the server has changed nothing
		t.Fatalf("undo: %v\n%s", err, said)
	}
	w.mustBe(t, "undone", before)
	if _, line, ok := strings.Cut(string(said), "To undo this:\n  mcp-jail "); ok {
		w.output(t, append(strings.Fields(line), "--yes")...)
		w.mustBe(t, "the undo undone", after)
	}
}

// isFree reports whether a name of the workspace is free for a file of the user's: no link leads there.
func (w *world) isFree(name string) bool {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(filepath.Join(w.work, dir)); err != nil || !fi.IsDir() {
			return false
		}
	}
	fi, err := os.Lstat(filepath.Join(w.work, name))
	return err != nil || fi.Mode().IsRegular()
}

// checkEdited wants the user's last texts, and of the rest what was there before, unless undo has said otherwise. A text
// of before that the server has only moved stays in the folder in any case.
func (w *world) checkEdited(t *testing.T, before, after, said string, edited map[string]string) {
	t.Helper()
	isSaid := func(name string) bool {
		for ; name != "."; name = filepath.Dir(name) {
			if strings.Contains(said, "/work/"+name+": ") || strings.Contains(said, "/work/"+name+" was not restored") {
				return true
			}
		}
		return false
	}
	for name, text := range edited {
		if got, err := os.ReadFile(filepath.Join(w.work, name)); string(got) != text && !isSaid(name) {
			t.Errorf("%s has %.60q (%v) and not %q of the user\n%s", name, got, err, text, said)
		}
	}
	now := treeOf(t, w.work)
	for line := range strings.Lines(before) {
		if text := line[strings.LastIndexByte(line, ' '):]; strings.Contains(after, text) && !strings.Contains(now, text) {
			t.Errorf("undo has removed all that has the text of %q\n%s", line, said)
		}
	}
	for _, line := range differences(before, now) {
		name, lost := strings.CutPrefix(line, "- /")
		name, _, _ = strings.Cut(name, " ")
		isAround := false // a file of the user's keeps its directory as it is
		for e := range edited {
			isAround = isAround || strings.HasPrefix(e+"/", name+"/")
		}
		if lost && !isAround && !isSaid(name) {
			t.Errorf("%q does not come back, and it is not said\n%s", line, said)
		}
	}
}
