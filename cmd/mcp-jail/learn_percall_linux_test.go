package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// stateServer is a server with three tools. Its argument says what else one of them does.
const stateServer = `import json, os, sys
kind, calls = sys.argv[1], 0
def tool(name): return {"name": name, "inputSchema": {"type": "object"}}
def call(name):
    global calls
    calls += 1
    if name == "read":
        text = open("plan.md").read() + " ".join(sorted(os.listdir(".")))
        if kind == "counter":
            text += str(calls)
    elif name == "write":
        open("new.md", "w").write("new")
        if kind == "home":
            open(os.path.join(os.environ["HOME"], "kept"), "w").write("kept")
        os.replace("new.md", "log.md")
        text = "written"
    else:
        text = open(sys.argv[2]).read()
    return {"content": [{"type": "text", "text": text}]}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [tool("read"), tool("write"), tool("other")]}
    elif m["method"] == "tools/call":
        r = call(m["params"]["name"])
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// pupilOf plants stateServer, and returns the arguments of a lesson that calls its tools.
func (w *world) pupilOf(t *testing.T, kind string, tools ...string) []string {
	t.Helper()
	w.plant(t, w.base, map[string]string{"server/server.py": stateServer})
	w.plant(t, w.home, map[string]string{"elsewhere/other.md": "another plan\n"})
	w.plant(t, w.work, map[string]string{"plan.md": "a plan\n", "log.md": "old"})
	var requests string
	for _, tool := range tools {
		requests += fmt.Sprintf(`{"method": "tools/call", "params": {"name": %q, "arguments": {}}}`+"\n", tool)
	}
	file := filepath.Join(w.base, "drive.jsonl")
	must(t, os.WriteFile(file, []byte(requests), 0o644))
	return []string{"learn", "--name", "pupil", "--drive", file, "--apply", "--yes", "--", "python3", filepath.Join(w.base, "server", "server.py"), kind, filepath.Join(w.home, "elsewhere", "other.md")}
}

// TestLearnPerCall: a server whose answers do not depend on other calls gets a table for each tool, with what this
// tool needs. It is written, and each tool works under it.
func TestLearnPerCall(t *testing.T) {
	testkit.NeedsLong(t)
	t.Parallel()
	need(t, "python3")
	w := newWorld(t)
	if out, err := w.mcpJail(w.pupilOf(t, "", "read", "write", "other")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.hasTables(t)
	for _, tool := range []string{"read", "write", "other"} {
		if out, err := w.mcpJail("call", "pupil", tool, "{}").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", tool, err, out)
		}
	}
}

// hasTables tests that the configuration has a table for each tool of stateServer, with what this tool needs.
func (w *world) hasTables(t *testing.T) {
	t.Helper()
	text := testkit.ReadFile(t, filepath.Join(w.home, ".config", "mcp-jail", "config.toml"))
	if !strings.Contains(text, "\nstateful = false\n") {
		t.Fatal(text)
	}
	tables := map[string]string{}
	for _, part := range strings.Split(text, "\n[servers.pupil.tools.")[1:] {
		name, table, _ := strings.Cut(part, ".access]\n")
		tables[name] += table
	}
	for tool, has := range map[string][3]bool{"read": {true, false, false}, "write": {false, true, false}, "other": {false, false, true}, `"*"`: {}} {
		for i, what := range []string{`{ path = ".", read = true }`, "write = true", `elsewhere/other.md", read = true`} {
			if strings.Contains(tables[tool], what) != has[i] {
				t.Errorf("%s in the table of %s: %t\n%s", what, tool, !has[i], text)
			}
		}
	}
}

// TestLearnOneProcess: where answers depend on other calls, or where that is not known, one process stays, and the
// policy says why.
func TestLearnOneProcess(t *testing.T) {
	testkit.NeedsLong(t)
	t.Parallel()
	need(t, "python3")
	for _, c := range []struct {
		name, kind, want string
		tools            []string
		long             bool
	}{
		{"a counter", "counter", "after other calls, the answer of read is another one", []string{"read", "write", "other"}, false},
		{"a file in HOME", "home", "which would end with the process of the call", []string{"read", "write", "other"}, true},
		{"a tool that was not called", "", "write was never called", []string{"read", "other"}, true},
	} {
		if c.long && !testkit.Long() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			out, err := w.mcpJail(w.pupilOf(t, c.kind, c.tools...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := testkit.ReadFile(t, filepath.Join(w.home, ".config", "mcp-jail", "config.toml"))
			if !strings.Contains(text, c.want) || !strings.Contains(text, "[servers.pupil.access]") {
				t.Errorf("no %q in\n%s", c.want, text)
			}
		})
	}
}

// TestLearnPerCallReal: of real servers that get a call of each tool, server-filesystem can have a process for each
// call, and servers that keep a graph or a list cannot, although each call succeeds.
func TestLearnPerCallReal(t *testing.T) {
	t.Parallel()
	if !testkit.Long() {
		return
	}
	need(t, "npm")
	for _, c := range []struct {
		drive string
		work  bool // it starts in the workspace
		argv  func(w *world) []string
		want  []string
	}{
		{"each-filesystem", true, func(w *world) []string { return []string{"node", server(filesystem), w.work} }, []string{
			"\nstateful = false\n", "[servers.pupil.tools.write_file.access]\nfs = [\n  { path = \".\", read = true, create = true", "[servers.pupil.tools.\"*\".access]\nfs = [\n  { path = \".\", read = true }, # the start once\n]",
		}},
		{"each-memory", false, func(*world) []string { return []string{"node", server(memory)} }, []string{"# One process serves all calls: it has resources, ", "[servers.pupil.access]"}},
		{"thinking", false, func(*world) []string { return []string{"node", server(thinking)} }, []string{"the answer of sequentialthinking is another one", "[servers.pupil.access]"}},
	} {
		t.Run(c.drive, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plant(t, w.work, map[string]string{"papers/plan.md": "a plan\n", "papers/p.png": "png", "tmp.txt": "x", "old.md": "old", "out/": ""})
			w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "out", "memory.json"))
			file := w.lessonDrive(t, lessonOf{name: c.drive})
			cmd := w.mcpJail(append([]string{"learn", "--name", "pupil", "--drive", file, "--budget", "10m", "--env", "MEMORY_FILE_PATH", "--"}, c.argv(w)...)...)
			if !c.work {
				cmd.Dir = w.home // as for servers of desktop clients: the process that lists the tools has no workspace
			}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, stderrOf(err))
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}
