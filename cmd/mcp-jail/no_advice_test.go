//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// conflicting makes the workspace a repository with two branches that cannot be merged.
func conflicting(t *testing.T, w *world) {
	t.Helper()
	git := repository(t, w, w.work)
	git("branch", "side")
	for _, branch := range []string{"main", "side"} {
		git("checkout", "-q", branch)
		w.plant(t, w.work, map[string]string{"a.txt": branch + "\n"})
		git("commit", "-qam", branch)
	}
}

// TestOtherFailuresUnchanged tests that failures of real programs which only look as if the jail
// caused them reach the client as without a jail, byte for byte.
func TestOtherFailuresUnchanged(t *testing.T) {
	need(t, "jail", "node", "git", "/usr/bin/python3")
	t.Parallel()
	w := newWorld(t)
	conflicting(t, w)
	w.plant(t, w.work, map[string]string{"in.txt": "in here\n", "closed.txt": "x", "run.sh": "#!/bin/sh\n", "shut/": ""})
	must(t, os.Chmod(filepath.Join(w.work, "closed.txt"), 0))
	if os.Getuid() == 0 { // root would read the closed file
		w.asOrdinaryUser(t)
	}
	argv := []string{"/usr/bin/python3", w.fixture(t, "exec.py")}
	plain, jailed := open(t, w.plain(argv...), nil), open(t, w.jail(append([]string{"--"}, argv...)...), nil)
	for _, script := range testkit.Table[string](t, "no-advice.txt") {
		run := map[string]any{"argv": []string{"sh", "-c", script}}
		p, j := plain.tool("run", run), jailed.tool("run", run)
		if !p.IsError || string(p.raw) != string(j.raw) {
			t.Errorf("%s: the jail makes a difference:\n plain  %s\n jailed %s", script, p.raw, j.raw)
		}
	}
	// The control: this one the jail causes.
	run := map[string]any{"argv": []string{"cat", filepath.Join(w.home, ".ssh", "id_ed25519")}}
	if got := jailed.tool("run", run); !strings.Contains(got.texts(), "[mcp-jail]") {
		t.Errorf("nothing is said of a refused file: %s", got.raw)
	}
	plain.close()
	jailed.close()
}

// TestGrantedHostFails tests that the answer names a granted host that this machine cannot reach.
func TestGrantedHostFails(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	t.Parallel()
	port := ""
	t.Run("unused port", func(t *testing.T) { port = hostPort(t) }) // nothing listens once the subtest has ended
	for host, want := range map[string]string{
		"localhost:" + port: "could not connect to it: connection refused",
		"absent.invalid":    "could not resolve it: ",
	} {
		w := newWorld(t)
		s := open(t, w.jail("--net", host, "--", "/usr/bin/python3", w.fixture(t, "exec.py")), nil)
		name, at, _ := strings.Cut(host+":443", ":")
		at, _, _ = strings.Cut(at, ":")
		got := s.tool("run", map[string]any{"argv": []string{"/usr/bin/python3", "-c", `import socket; socket.create_connection(("` + name + `", ` + at + `)).recv(1)`}})
		if text := got.texts(); !strings.Contains(text, "[mcp-jail] The jail blocked nothing here: "+host+" is allowed, and this machine "+want) {
			t.Errorf("%s: %s", host, text)
		}
		s.close()
	}
}
