package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// hostServer is a server that needs a host before its first answer, and reads a file in a call.
const hostServer = `import json, sys, urllib.request
urllib.request.urlopen("http://localhost:%s/", timeout=5).read()
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "read", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}]}
    elif m["method"] == "tools/call":
        try:
            text = open("%s").read()
        except OSError as e:
            text = str(e)
        r = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// TestLearnHosts: a server that does not start without a host is learned if the user names that host, and what
// a call was refused beside the open host is granted in the next round. Without the host, the error names it.
func TestLearnHosts(t *testing.T) {
	testkit.NeedsLong(t)
	t.Parallel()
	need(t, "python3")
	w := newWorld(t)
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "hello") }))
	defer site.Close()
	port := site.URL[strings.LastIndex(site.URL, ":")+1:]
	w.plant(t, w.base, map[string]string{"elsewhere/plan.md": "a plan\n"})
	script := filepath.Join(w.work, "server.py")
	must(t, os.WriteFile(script, fmt.Appendf(nil, hostServer, port, filepath.Join(w.base, "elsewhere", "plan.md")), 0o644))
	line := []string{"learn", "--name", "pupil", "--net", "localhost:" + port, "--", "python3", script}
	cmd, said := w.mcpJail(line...), &bytes.Buffer{}
	cmd.Stderr = said
	out, err := cmd.Output()
	if err != nil || strings.Contains(said.String(), "not compared") { // each round has the hosts, or its answers are others
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	for _, want := range []string{`{ host = "localhost", `, "port = " + port, `elsewhere/plan.md", read = true }`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if _, err = w.mcpJail("learn", "--name", "pupil", "--", "python3", script).Output(); err == nil || !strings.Contains(stderrOf(err), "name it with --net HOST") {
		t.Errorf("with a closed network: %v\n%s", err, stderrOf(err))
	}
}
