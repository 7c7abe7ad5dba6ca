package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// A sixteenServer is a real server that gives the same answers in a jail. In args, env and
// arguments WORK is the workspace.
type sixteenServer struct {
	name      string
	preset    bool   // of testdata/presets, not of testdata/npm
	short     bool   // in make test
	program   string // below node_modules
	args, env []string
	before    func(t *testing.T, w *world) // prepares the workspace
	tool      string                       // a harmless tool; "" if each needs a browser
	arguments map[string]any
	fails     bool // the tool fails, for want of arguments or of a database
}

// sixteenServers are the servers of testdata/npm, and two of testdata/presets.
var sixteenServers = []sixteenServer{
	{name: "everything", program: everything + "/dist/index.js", tool: "get-sum", arguments: map[string]any{"a": 40, "b": 2}},
	{name: "filesystem", short: true, program: filesystem + "/dist/index.js", args: []string{"WORK"}, tool: "directory_tree", arguments: map[string]any{"path": "WORK"}},
	{name: "filesystem of 2025", program: oldFilesystem + "/dist/index.js", args: []string{"WORK"}, tool: "read_file", arguments: map[string]any{"path": "WORK/note.md"}},
	{name: "git", program: "mcp-git/dist/cli.js", before: newRepository, tool: "git_log", arguments: map[string]any{"repo_path": "WORK"}},
	{name: "github", program: github + "/dist/index.js", env: []string{githubToken + "=planted-token"}, tool: "get_file_contents", fails: true},
	{name: "knowledge graph", program: "@itseasy21/mcp-knowledge-graph/dist/index.js", args: []string{"--memory-path", "WORK/graph.jsonl"}, tool: "read_graph"},
	{name: "memory", program: memory + "/dist/index.js", env: []string{"MEMORY_FILE_PATH=WORK/graph.jsonl"}, tool: "read_graph"},
	{name: "memory bank", program: "@allpepper/memory-bank-mcp/dist/main/index.js", env: []string{"MEMORY_BANK_ROOT=WORK"}, tool: "memory_bank_read", arguments: map[string]any{"projectName": "papers", "fileName": "plan.md"}},
	{name: "playwright", program: playwright + "/cli.js"},
	{name: "postgres", program: databases + "/dist/index.js", args: []string{"postgresql://127.0.0.1:1/none"}, tool: "query", arguments: map[string]any{"sql": "select 42"}, fails: true},
	{name: "tasks", program: "@kazuph/mcp-taskmanager/dist/index.js", env: []string{"TASK_MANAGER_FILE_PATH=WORK/out/tasks.json"}, before: oldTasks, tool: "list_requests"},
	{name: "thinking", short: true, program: thinking + "/dist/index.js", tool: "sequentialthinking", arguments: map[string]any{"thought": "of walls", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}},
	{name: "weather", program: "@h1deya/mcp-server-weather/dist/index.js", tool: "get-forecast", fails: true},
	{name: "wikipedia", program: "wikipedia-mcp/dist/index.js", tool: "search", fails: true},
	{name: "obsidian", preset: true, program: "mcp-obsidian/dist/index.js", args: []string{"WORK"}, tool: "read_notes", arguments: map[string]any{"paths": []string{"note.md"}}},
	{name: "slack", preset: true, program: "@modelcontextprotocol/server-slack/dist/index.js", env: []string{"SLACK_BOT_TOKEN=planted-token", "SLACK_TEAM_ID=T1"}, tool: "slack_post_message"},
}

// TestSixteenServers tests that sixteen real servers give the same answers in a jail, byte for
// byte. An answer that differs between two runs without a jail is left out. Under these policies
// mcp-jail adds nothing of its own.
func TestSixteenServers(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	for _, c := range sixteenServers {
		t.Run(c.name, func(t *testing.T) {
			if !c.short {
				testkit.NeedsLong(t)
			}
			if c.preset {
				need(t, "presets")
			}
			t.Parallel()
			w := newWorld(t)
			w.plant(t, w.work, map[string]string{
				"note.md": "a note\n", "papers/plan.md": "a plan\n", "tmp.txt": "x", "graph.jsonl": `{"type":"entity","name":"jail","entityType":"thing","observations":["it holds"]}` + "\n",
			})
			if c.before != nil {
				c.before(t, w)
			}
			argv, grants := c.command(w)
			bare, again := c.answers(t, w.plain(argv...)), c.answers(t, w.plain(argv...))
			jailed := c.answers(t, w.jail(slices.Concat(grants, []string{"--"}, argv)...))
			if bare["tools/list"] != again["tools/list"] {
				t.Error("two bare runs list different tools, so nothing is left to compare")
			}
			for _, method := range slices.Sorted(maps.Keys(bare)) {
				if bare[method] != again[method] {
					t.Logf("left out, since two bare runs differ: %s\n %s\n %s", method, bare[method], again[method])
					continue
				}
				if bare[method] != jailed[method] {
					t.Errorf("%s\n bare   %s\n jailed %s", method, bare[method], jailed[method])
				}
			}
		})
	}
}

// command returns the command of the server, and the flags that grant it its variables.
func (c *sixteenServer) command(w *world) (argv, grants []string) {
	modules := "MCPJAIL_SERVERS"
	if c.preset {
		modules = "MCPJAIL_PRESETS"
	}
	argv = []string{"node", filepath.Join(os.Getenv(modules), "node_modules", filepath.FromSlash(c.program))}
	for _, a := range c.args {
		argv = append(argv, strings.ReplaceAll(a, "WORK", w.work))
	}
	for _, v := range c.env {
		name, value, _ := strings.Cut(v, "=")
		w.env = append(w.env, name+"="+strings.ReplaceAll(value, "WORK", w.work))
		grants = append(grants, "--env", name)
	}
	return argv, grants
}

// answers plays a session and returns the answer to each method.
func (c *sixteenServer) answers(t *testing.T, cmd *exec.Cmd) map[string]string {
	t.Helper()
	s := start(t, cmd)
	all := map[string]string{"initialize": string(s.initialize(nil))}
	for _, method := range []string{"tools/list", "resources/list", "prompts/list"} {
		m := s.call(method, nil)
		all[method] = string(m.Result) + string(m.Error)
	}
	if c.tool != "" {
		arguments := maps.Clone(c.arguments)
		for name, value := range arguments {
			if text, ok := value.(string); ok {
				arguments[name] = strings.ReplaceAll(text, "WORK", cmd.Dir)
			}
		}
		r := s.tool(c.tool, arguments)
		if r.IsError != c.fails {
			t.Errorf("%s: %s", c.tool, r.raw)
		}
		all["tools/call"] = string(r.raw)
	}
	s.in.Close()
	return all
}

// newRepository makes a repository of the workspace.
func newRepository(t *testing.T, w *world) {
	t.Helper()
	for _, args := range [][]string{{"init", "--quiet"}, {"config", "user.name", "mason"}, {"config", "user.email", "mason@example.com"}, {"add", "tmp.txt"}, {"commit", "--quiet", "--message", "begin"}} {
		if out, err := w.plain(append([]string{"git"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// oldTasks is the file of a server of tasks with a request of an earlier session.
func oldTasks(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.work, map[string]string{"out/tasks.json": `{"requests": [{"requestId": "req-1", "originalRequest": "a moat", "splitDetails": "a moat", "completed": false, "tasks": [{"id": "task-1", "title": "a wall", "description": "of stone", "done": false, "approved": false, "completedDetails": ""}]}]}`})
}
