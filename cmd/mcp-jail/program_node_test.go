//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNode tests what programs use of node: threads, processes, watchers, sockets,
// WebAssembly.
func TestNode(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"cluster.js": `
const cluster = require("cluster"), http = require("http");
if (cluster.isPrimary) {
	let up = 0;
	cluster.on("listening", (worker, at) => {
		if (++up !== 2) return;
		http.get({ host: "127.0.0.1", port: at.port }, (r) => r.on("data", (b) => console.log(String(b))).on("end", () => process.exit(0)));
	});
	cluster.fork();
	cluster.fork();
} else {
	http.createServer((q, r) => r.end("ok")).listen(18080, "127.0.0.1");
}
`})
	s := nodeSession(t, w)
	for name, script := range testkit.Archive(t, "node-forms.txt") {
		if got := strings.TrimSpace(s.mustRun("node", "-e", script)); got != "ok" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if out := s.mustFail("", "node", "-e", `require("net").connect(`+hostPort(t)+`, "127.0.0.1").on("error", (e) => { console.log(e.code); process.exit(1) }).on("connect", () => process.exit(0))`); !strings.Contains(out, "ECONNREFUSED") && !strings.Contains(out, "EACCES") && !strings.Contains(out, "ENETUNREACH") {
		t.Errorf("a connection to the host: %s", out)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
