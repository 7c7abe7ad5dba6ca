//go:build linux

package main

import (
	"path/filepath"
	"testing"
)

// TestAdviceServers tests the advice for the official MCP servers.
func TestAdviceServers(t *testing.T) {
	checkAdvice(t, []adviceCase{
		{name: "filesystem, writing outside", needs: []string{"npm"}, rules: readRule("~/logs"), before: withInput, server: filesystemAt("$W/home/logs"), use: useWrite("home/logs/o"), want: `[[access.fs]] path = "~/logs", read, write`},
		{name: "filesystem, writing over", needs: []string{"npm"}, rules: readRule("."), before: withInput, server: filesystemAt("$W/work"), use: useWrite("work/in.txt"), want: `[[access.fs]] path = ".", read, write`},
		{name: "filesystem, a directory", needs: []string{"npm"}, rules: readRule("."), before: withInput, server: filesystemAt("$W/work"), use: useTool("create_directory", "path", "work/new"), want: `[[access.fs]] path = "new/", read, write`},
		{name: "filesystem, a root of the client", needs: []string{"npm"}, flags: "", before: withNote, server: filesystemAt("$W/work"), roots: []string{"$W/home/notes"}, use: useRead("home/notes/a.md"), want: "--read ~/notes"},
		{name: "memory", needs: []string{"npm"}, flags: "--write . --env MEMORY_FILE_PATH", before: func(t *testing.T, w *world) {
			withInput(t, w)
			w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.home, "logs", "m.jsonl"))
		}, server: func(*world) []string { return []string{"node", server(memory)} }, use: func(_ *testing.T, _ *world, s *clientSession) toolResult {
			return s.tool("create_entities", remember)
		}, want: "--write ~/logs"},
		{name: "filesystem, an argument", needs: []string{"npm"}, flags: "", before: withNote, server: filesystemAt("$W/home/notes"), use: useRead("home/notes/a.md"), want: "--read ~/notes"},
		{name: "filesystem, one of two arguments", needs: []string{"npm"}, flags: "", before: withNote, server: filesystemAt("$W/work", "$W/home/notes"), use: useRead("home/notes/a.md"), want: "--read ~/notes"},
		{name: "filesystem, an argument, rules", needs: []string{"npm"}, rules: writeRule("."), before: withNote, server: filesystemAt("$W/home/notes"), use: useRead("home/notes/a.md"), want: `[[access.fs]] path = "~/notes", read`},
		{name: "an error of the protocol", flags: "--write .", before: withNote, server: execErrors, script: "cat $W/home/notes/a.md", want: "--read ~/notes/a.md"},
		{name: "an error of the protocol, write", rules: readRule("."), before: withInput, server: execErrors, argv: node(`require("fs").writeFileSync("g", "x")`), want: `[[access.fs]] path = ".", read, write`},
	})
}
