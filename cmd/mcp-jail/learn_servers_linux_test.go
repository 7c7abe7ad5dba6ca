package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A lessonOf is a server from which a policy is learned with a drive of testdata/learn.
type lessonOf struct {
	name   string // of the drive, too
	need   string
	argv   func(w *world) []string
	env    []string                     // NAME=VALUE, handed over by --env
	before func(t *testing.T, w *world) // prepares the workspace
	hosts  []string                     // are reached; each answers with the file of its name in testdata/learn
	token  string                       // that the hosts want
	long   bool                         // not in make test
	want   []string                     // in the policy
	says   []string                     // in the answers of the tools
	fails  int                          // calls that fail
	rules  string                       // how many of which kind
	clock  bool                         // an answer is another one each second
}

// lessonsOf has a server of our own, and real ones: of those that other tests start, and six that no other test
// and no preset knows.
var lessonsOf = []lessonOf{
	{name: "every-kind", rules: "[command:1 env:1 fs:3]", fails: 2, argv: func(w *world) []string { return []string{filepath.Join(w.base, "bin", "notes-server")} },
		env:  []string{"LEARNED_TOKEN=abc"},
		want: []string{`{ path = "papers/plan.md", read = true }`, `{ path = "~/notes.txt", read = true }`, `{ path = "out", read = true, create = true`, `{ host = "api.example.test"`, `{ name = "LEARNED_TOKEN", read = true }, # you named it`, "git = { args = [[\"--version\"]] }", "wanted by read"}},
	{name: "filesystem", rules: "[fs:2]", need: "npm", argv: func(w *world) []string { return []string{"node", server(filesystem), w.work} },
		want: []string{`{ path = ".", read = true }`, `{ path = "out"`}, says: []string{"a plan", "newer"}},
	{name: "memory", rules: "[env:1 fs:1]", need: "npm", long: true, env: []string{"MEMORY_FILE_PATH=WORK/out/memory.json"}, argv: func(*world) []string { return []string{"node", server(memory)} },
		want: []string{`{ path = "out`, `{ name = "MEMORY_FILE_PATH", read = true }`}, says: []string{"it holds"}},
	{name: "everything", rules: "[env:1]", need: "npm", long: true, env: []string{"LEARNED_TOKEN=abc"}, argv: func(*world) []string { return []string{"node", server(everything), "stdio"} },
		want: []string{`{ name = "LEARNED_TOKEN", read = true }`}, says: []string{"hello"}},
	{name: "thinking", rules: "[]", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server(thinking)} }, says: []string{"thoughtNumber"}},
	{name: "github", rules: "[env:1 net:1]", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server(github)} },
		env: []string{githubToken + "=planted-token"}, hosts: []string{internetHost}, token: "planted-token",
		want: []string{`{ host = "api.github.com"`}, says: []string{"a commit"}},
	{name: "slack", rules: "[env:2 net:1]", need: "presets", long: true, argv: func(*world) []string { return []string{"node", preset("@modelcontextprotocol/server-slack")} },
		env: []string{"SLACK_BOT_TOKEN=planted-token", "SLACK_TEAM_ID=T1"}, hosts: []string{"slack.com"}, token: "planted-token",
		says: []string{"all-walls", "mason"}},
	{name: "obsidian", rules: "[fs:1]", need: "presets", long: true, argv: func(w *world) []string {
		return []string{"node", preset("mcp-obsidian"), filepath.Join(w.work, "papers")}
	},
		want: []string{`{ path = "papers`}, says: []string{"a plan"}},

	{name: "mcp-git", rules: "[command:1 fs:2]", clock: true, need: "npm", long: true, argv: func(*world) []string { return []string{"node", module("mcp-git", "dist", "cli.js")} },
		before: newRepository, says: []string{"papers/"}},
	{name: "taskmanager", rules: "[env:1 fs:1]", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server("@kazuph/mcp-taskmanager")} },
		env: []string{"TASK_MANAGER_FILE_PATH=WORK/out/tasks.json"}, before: oldTasks, want: []string{`{ path = "out/tasks.json", read = true, update = true }`}, says: []string{"a wall", "a moat", "a tower"}},
	{name: "memory-bank", rules: "[env:1 fs:1]", need: "npm", long: true, argv: func(*world) []string {
		return []string{"node", module("@allpepper/memory-bank-mcp", "dist", "main", "index.js")}
	},
		env: []string{"MEMORY_BANK_ROOT=WORK"}, says: []string{"papers", "it holds"}},
	{name: "knowledge-graph", rules: "[fs:1]", need: "npm", long: true, argv: func(w *world) []string {
		return []string{"node", server("@itseasy21/mcp-knowledge-graph"), "--memory-path", filepath.Join(w.work, "out", "graph.jsonl")}
	},
		says: []string{"it holds"}},
	{name: "weather", rules: "[net:1]", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server("@h1deya/mcp-server-weather")} },
		hosts: []string{"api.weather.gov"}, says: []string{"fog until noon", "Sunny"}},
	{name: "wikipedia", rules: "[net:1]", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server("wikipedia-mcp")} },
		hosts: []string{"en.wikipedia.org"}, says: []string{"curid=7", "A jail holds."}},
}

// preset returns the program of an installed server that has a preset.
func preset(name string) string {
	return filepath.Join(os.Getenv("MCPJAIL_PRESETS"), "node_modules", filepath.FromSlash(name), "dist", "index.js")
}

// newRepository makes the workspace a repository with one commit.
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
