//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A call that fails for want of a right says so in the result, in the record and
// on stderr, and the lines that it names work when they are pasted into the file.
func TestAdvicePasted(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"work/in.txt": "in here", "notes/n.txt": "noted"})
	config := filepath.Join(w.base, "c.toml")
	note := filepath.Join(w.base, "notes", "n.txt")
	text := "version = 1\n\n[servers.files]\ncommand = \"node\"\narguments = [" + strconv.Quote(server(oldFilesystem)) + ", \"/\"]\nworkspace = " + strconv.Quote(w.work) + "\n"
	must(t, os.WriteFile(config, []byte(text), 0o644))

	s := open(t, w.jail("--config", config, "files"), nil)
	r := s.tool("read_file", map[string]any{"path": note})
	var raw struct {
		Content []struct{ Type, Text string }
		Meta    map[string][]map[string]any `json:"_meta"`
	}
	must(t, json.Unmarshal(r.raw, &raw))
	if !r.IsError || len(raw.Content) != 2 || !strings.HasPrefix(raw.Content[1].Text, "\n[mcp-jail]") || !strings.Contains(raw.Content[1].Text, filepath.Dir(note)) {
		t.Fatalf("the failure does not explain itself: %s", r.raw)
	}
	if len(raw.Meta) != 0 { // refused reads are not recorded
		t.Errorf("_meta tells of nothing: %s", r.raw)
	}
	if r := s.tool("read_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError || len(r.Meta) != 0 {
		t.Errorf("the session goes on, and says nothing where nothing is wrong: %s", r.raw)
	}
	s.close()
	if !strings.Contains(s.stderr.String(), filepath.Dir(note)) {
		t.Errorf("stderr does not name %s: %s", note, &s.stderr)
	}

	// The lines for the configuration stand in the result itself.
	_, lines, found := strings.Cut(raw.Content[1].Text, "Lines for the configuration:\n")
	if !found {
		t.Fatalf("no lines for the configuration: %s", raw.Content[1].Text)
	}
	if grant := lastGrant(t, w, "files"); strings.TrimSpace(grant) != strings.TrimSpace(lines) {
		t.Errorf("the result says\n%s\nand the record\n%s", lines, grant)
	}
	must(t, os.WriteFile(config, []byte(text+"\n"+lines+"\n"), 0o644))
	w.output(t, "check", config)
	s = open(t, w.jail("--config", config, "files"), nil)
	for _, file := range []string{note, filepath.Join(w.work, "in.txt")} {
		if r := s.tool("read_file", map[string]any{"path": file}); r.IsError {
			t.Errorf("with\n%s\n%s", lines, r.texts())
		}
	}
	if r := s.tool("write_file", map[string]any{"path": note, "content": "x"}); !r.IsError {
		t.Error("more was granted than was asked for")
	}
	s.close()
}

// waitForDaemons waits until the daemons of the daemon server are up, beside mcp-jail, the
// init of the jail and the server: what is looked for later can be found.
func (s *session) waitForDaemons(w *world) {
	s.t.Helper()
	eventually(s.t, "the daemons are up", func() bool {
		n := 0
		for _, p := range w.processes() {
			if strings.Contains(p, "while :; do sleep") {
				n++
			}
		}
		return n >= 2
	})
}

// Whatever ends a session, nothing of it stays.
func TestSignalsEndSession(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "stubborn"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
			t.Run(fmt.Sprint(sig, kind), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s := open(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), kind), nil)
				s.waitForDaemons(w)
				must(t, s.cmd.Process.Signal(sig))
				status := s.wait()
				if status == 0 {
					t.Errorf("exit status 0 after %s", sig)
				}
				w.noneLeft(t)
			})
		}
	}
}

// Clients leave when they like.
func TestClientLeavesEarly(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*world, *session){
		"at once":              func(w *world, s *session) { s.in.Close() },
		"after half a message": func(w *world, s *session) { s.in.Write([]byte(`{"jsonrpc":"2.0","id":0,"met`)); s.in.Close() },
		"after a request":      func(w *world, s *session) { s.request("initialize", map[string]any{}); s.in.Close() },
		"after the handshake":  func(w *world, s *session) { s.initialize(nil); s.waitForDaemons(w); s.in.Close() },
		"during a call": func(w *world, s *session) {
			s.initialize(nil)
			s.waitForDaemons(w)
			s.request("no/answer", nil)
			s.in.Close()
		},
		"deaf":                   func(w *world, s *session) { s.initialize(nil); s.cmd.Process.Signal(syscall.SIGPIPE); s.in.Close() },
		"with a signal, at once": func(w *world, s *session) { s.in.Close(); s.cmd.Process.Signal(syscall.SIGTERM) },
		"killed during start":    func(w *world, s *session) { s.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := start(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), ""))
			leave(w, s)
			s.wait()
			w.noneLeft(t)
			if left, _ := filepath.Glob("/tmp/*" + filepath.Base(w.base) + "*"); len(left) > 0 {
				t.Errorf("litter: %q", left)
			}
		})
	}
}

// A server that neither reads nor ends is ended, some time after the client left.
func TestStubbornServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := open(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), "stubborn"), nil)
	s.waitForDaemons(w)
	if status := s.close(); status != 137 {
		t.Errorf("exit status %d, want 128 + SIGKILL", status)
	}
}

// The exit status of the server is that of mcp-jail, and its orphans go with it.
func TestExitStatusOfServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$; sleep 9": 143, "sleep 999 & exit 3": 3} {
		s := start(t, w.jail("--", "sh", "-c", "# "+w.base+"/\n"+script))
		if got := s.close(); got != want {
			t.Errorf("%q: exit status %d, want %d", script, got, want)
		}
		w.noneLeft(t)
	}
}
