//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watcher exits when it has seen the files that the test writes.
const watcher = `
const fs = require("fs"), path = require("path"), dir = process.argv[1];
fs.readdirSync(dir);
const seen = new Set();
fs.watch(dir, { recursive: true }, (what, name) => {
	seen.add(name);
	if (seen.has("by-the-host.txt") && seen.has(path.join("sub", "deeper.txt"))) {
		console.log("seen", fs.readFileSync(path.join(dir, "by-the-host.txt"), "utf8"));
		process.exit(0);
	}
});
`

// TestWatch tests that a file watcher in the jail needs only read access, and sees
// changes by the host.
func TestWatch(t *testing.T) {
	need(t, "node")
	t.Parallel()
	checkRecipe(t, func(t *testing.T, w *world) recipe {
		w.plant(t, w.work, map[string]string{"sub/": ""})
		return nodeServer(t, w, "reader")
	}, func(t *testing.T, w *world, s *clientSession) toolResult {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { // until the watcher has seen it: there is no sign that the watch is up
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				os.WriteFile(filepath.Join(w.work, "by-the-host.txt"), []byte("from the host"), 0o644)
				os.WriteFile(filepath.Join(w.work, "sub", "deeper.txt"), fmt.Append(nil, i), 0o644)
			}
		}()
		r := s.tool("run", map[string]any{"argv": []string{"node", "-e", watcher, w.work}})
		close(stop)
		<-stopped
		if !r.IsError && !strings.Contains(r.texts(), "seen") {
			t.Errorf("%s", r.texts())
		}
		return r
	})
}
