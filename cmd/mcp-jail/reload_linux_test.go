package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// configure writes a configuration with a time of its own, and returns its file.
func (w *world) configure(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(w.base, "reload.toml")
	must(t, os.WriteFile(file+".new", []byte(text), 0o644))
	must(t, os.Rename(file+".new", file)) // as editors do
	return file
}

// reading returns a table that grants a server, or one of its tools, a directory to read.
func reading(table, dir string) string {
	return fmt.Sprintf("[[servers.s.%s.fs]]\npath = %q\nread = true\n", table, dir)
}

// TestReloadStateless tests that the next call has the policy that the file says by then, that
// the last good one stays in force while the file has a mistake, which every call says, and that
// the list of tools comes from the new program.
func TestReloadStateless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"a/f": "in a", "b/f": "in b"})
	victim := w.copySelf(t, "victim")
	head := "[servers.s]\ncommand = \"" + victim + "\"\nstateful = false\nwarm = 1\n"
	file := w.configure(t, head+reading("tools.read.access", "a"))
	s := open(t, w.jail("--config", file, "s"), nil)
	s.call("logging/setLevel", map[string]any{"level": "warning"})
	reads := func(a, b bool) {
		t.Helper()
		for name, want := range map[string]bool{"a/f": a, "b/f": b} {
			r := s.tool("read", map[string]any{"arg": name})
			if got := !r.IsError && strings.Contains(r.texts(), "in "); got != want {
				t.Errorf("%s is read: %v, want %v: %s", name, got, want, r.texts())
			}
		}
	}
	reads(true, false) // the control
	w.configure(t, head+reading("tools.read.access", "b"))
	reads(false, true)
	if said := s.stderr.String(); strings.Count(said, `calls of server "s" are under its new policy now`) != 1 {
		t.Errorf("stderr: %s", said)
	}

	w.configure(t, head+"nonsense = 1\n"+reading("tools.read.access", "a"))
	reads(false, true)
	reads(false, true)
	const problem = `:5: servers.s.nonsense is not a known key`
	testkit.Eventually(t, "a warning of each call", func() bool { // which stderr may have after the answer
		said := s.stderr.String()
		return strings.Count(said, problem) == 4 && strings.Contains(said, `: server "s" goes on with the configuration of `)
	})

	must(t, os.Remove(file)) // the server is gone from its configuration
	reads(false, true)
	w.configure(t, strings.Replace(head, "stateful = false", "stateful = true", 1))
	reads(false, true)
	if said := s.stderr.String(); !strings.Contains(said, "stateful = true holds from the next session on") {
		t.Errorf("stderr: %s", said)
	}
	w.configure(t, head+reading("tools.read.access", ".")+"[servers.s.limits]\nmessage_mb = 3\n")
	reads(true, true)

	before := s.tools()
	w.configure(t, strings.Replace(head, "victim", "notthere", 1))
	reads(true, true)
	w.configure(t, strings.Replace(head, victim, w.copySelf(t, "twins"), 1))
	s.tool("granted", map[string]any{"arg": "/nowhere"}) // which the other program does not have
	s.waitNotifications("notifications/tools/list_changed", 1)
	if after := s.tools(); fmt.Sprint(before) == fmt.Sprint(after) {
		t.Errorf("the tools of another program: %q", after)
	}
	s.waitNotifications("notifications/message", 1)
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d: %s", status, &s.stderr)
	}
	w.noneLeft(t)
}

// TestReloadStateful tests that the jail of a running session stays as it is, that stderr, the
// client and status say so, and that another server's table is no reason.
func TestReloadStateful(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"a/f": "in a", "b/f": "in b"})
	head := "[servers.s]\ncommand = \"" + w.copySelf(t, "victim") + "\"\n"
	file := w.configure(t, head+reading("access", "a"))
	s := open(t, w.jail("--config", file, "s"), nil)
	s.call("logging/setLevel", map[string]any{"level": "warning"})
	reads := func() {
		t.Helper()
		for name, want := range map[string]bool{"a/f": true, "b/f": false} {
			if r := s.tool("read", map[string]any{"arg": name}); r.IsError == want {
				t.Errorf("%s: %s", name, r.texts())
			}
		}
		time.Sleep(refreshPause) // the next call looks again
	}
	reads()
	w.configure(t, head+reading("access", "a")+"[servers.other]\ncommand = \"x\"\n")
	reads()
	if strings.Contains(s.stderr.String(), "warning: "+file) {
		t.Errorf("another server's table: %s", &s.stderr)
	}

	w.configure(t, "# a comment\n"+head+reading("access", ".")) // wider
	reads()
	reads()
	const kept = `server "s" keeps the policy that it started with: restart it to give it the new one`
	testkit.Eventually(t, "it is said", func() bool { return strings.Contains(s.stderr.String(), kept) })
	if n := strings.Count(s.stderr.String(), kept); n != 1 {
		t.Errorf("said %d times: %s", n, &s.stderr)
	}
	// The refusals of b/f come as messages of their own.
	testkit.Eventually(t, "the client is told", func() bool {
		return slices.ContainsFunc(s.waitNotifications("notifications/message", 1), func(m message) bool { return strings.Contains(string(m.Params), "keeps the policy") })
	})

	w.configure(t, "nonsense = 1\n")
	reads()
	reads()
	testkit.Eventually(t, "each call says it", func() bool { return strings.Count(s.stderr.String(), "nonsense is not a known key") >= 3 })
	w.configure(t, head+reading("access", "a")) // as it was
	reads()
	said := strings.Count(s.stderr.String(), "warning: "+file)
	reads()
	if now := strings.Count(s.stderr.String(), "warning: "+file); now != said {
		t.Errorf("it is still said: %s", &s.stderr)
	}
	s.close()
	w.noneLeft(t)
}

const refreshPause = 1100 * time.Millisecond
