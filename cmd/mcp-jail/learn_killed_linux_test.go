//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// writingDrive has a server write to the home directory and to the workspace, and read there.
const writingDrive = `{"method": "tools/call", "params": {"name": "write", "arguments": {"arg": "HOME/data/new.txt"}}}
{"method": "tools/call", "params": {"name": "write", "arguments": {"arg": "WORK/out/new.txt"}}}
{"method": "tools/call", "params": {"name": "move", "arguments": {"arg": "WORK/papers/plan.md", "to": "WORK/papers/moved.md"}}}
{"method": "tools/call", "params": {"name": "read", "arguments": {"arg": "HOME/notes.txt"}}}
`

// TestLearnKilled kills a process of a lesson with SIGKILL at random moments: mcp-jail learn, mcp-jail run, the
// server, or any of them. Home directory and workspace are as they were, nothing is left in TMPDIR or /run, no
// process and no mount, and the next lesson works.
func TestLearnKilled(t *testing.T) {
	testkit.NeedsLong(t)
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"tmp/": ""})
	w.plant(t, w.work, map[string]string{"out/": "", "papers/plan.md": "a plan\n"})
	w.env = append(w.env, "TMPDIR="+filepath.Join(w.base, "tmp"))
	w.plant(t, w.home, map[string]string{"data/old.txt": "old\n"})
	server, driveFile := w.copySelf(t, "notes-server"), filepath.Join(w.base, "drive.jsonl")
	must(t, os.WriteFile(driveFile, []byte(strings.NewReplacer("WORK", w.work, "HOME", w.home).Replace(writingDrive)), 0o644))
	home, work, run := snapshot(t, w.home), snapshot(t, w.work), ofOurs("/run", "/dev/shm")
	unharmed := func(after string) {
		t.Helper()
		w.sameAsBefore(t, home, work)
		testkit.Eventually(t, "nothing is left after "+after, func() bool { return len(w.remains()) == 0 })
		testkit.Eventually(t, "/run is as it was after "+after, func() bool { return ofOurs("/run", "/dev/shm") <= run })
	}
	learn := func() string {
		out, err := w.mcpJail("learn", "--name", "pupil", "--drive", driveFile, "--", server).Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, stderrOf(err))
		}
		return rulesOf(string(out))
	}

	// The control: a whole lesson, in which the server has written to both places.
	first := learn()
	if !strings.Contains(first, `path = "~/data", create = true`) || !strings.Contains(first, `path = "papers"`) {
		t.Errorf("the server has not written:\n%s", first)
	}
	unharmed("a whole lesson")

	killed := map[string]int{}
	for i := range testkit.Rounds(4, 60) {
		kind := []string{"learn", "run", "server", "any"}[i%4]
		cmd := w.mcpJail("learn", "--name", "pupil", "--drive", driveFile, "--", server)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, testkit.Patience
		must(t, cmd.Start())
		if pid := w.momentOf(kind, cmd.Process.Pid, server); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed[kind]++
		}
		cmd.Wait() // what it says depends on the moment
		unharmed(fmt.Sprintf("SIGKILL of %s", kind))
	}
	t.Logf("killed: %v", killed)
	if killed["learn"] == 0 || len(killed) < 2 {
		t.Errorf("only these were killed: %v", killed)
	}
	if again := learn(); again != first {
		t.Errorf("the next lesson has another result:\n%s\nnot\n%s", again, first)
	}
	unharmed("the next lesson")
}

// momentOf waits for one of the first sessions of a lesson and a little longer, and returns a process of it. It
// returns 0 if the lesson ends before.
func (w *world) momentOf(kind string, learn int, server string) int {
	seen, sessions := map[int]bool{}, 1+rand.N(2)
	for len(w.processes()) > 0 {
		if pid := w.processOf("server", learn, server); pid > 0 {
			seen[pid] = true
		}
		if len(seen) >= sessions {
			time.Sleep(rand.N(30 * time.Millisecond))
			if pid := w.processOf(kind, learn, server); pid > 0 {
				return pid
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0
}

// processOf returns a process of a lesson, or 0 if there is none now.
func (w *world) processOf(kind string, learn int, server string) int {
	all := w.processes()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all {
		pid, line, _ := strings.Cut(p, " ")
		n, err := strconv.Atoi(pid)
		words := strings.Fields(line)
		if err != nil || len(words) < 2 && kind == "run" || len(words) == 0 {
			continue
		}
		if kind == "any" || kind == "learn" && n == learn || kind == "run" && words[1] == "run" || kind == "server" && words[0] == server {
			return n
		}
	}
	return 0
}

// ofOurs counts the files of mcp-jail in directories.
func ofOurs(dirs ...string) (n int) {
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, "*mcp-jail*"))
		n += len(found)
	}
	return n
}

// rulesOf returns the rules of a learned policy without their comments, which have times and counts.
func rulesOf(policy string) string {
	var rules strings.Builder
	for line := range strings.Lines(policy) {
		if ruleLine.MatchString(line) {
			rule, _, _ := strings.Cut(line, " # ")
			rules.WriteString(strings.TrimSpace(rule) + "\n")
		}
	}
	return rules.String()
}
