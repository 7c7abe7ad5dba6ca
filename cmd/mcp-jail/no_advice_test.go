//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// checkUnchanged tests failures that the jail does not cause.
func checkUnchanged(t *testing.T, rows []adviceCase) {
	t.Helper()
	eachCase(t, rows, adviceCase.unchanged)
}

// unchanged tests that the failure contains want, and that the client gets the same bytes as
// without a jail. The comparison needs MCPJAIL_LONG=1.
func (c adviceCase) unchanged(t *testing.T) {
	t.Helper()
	port := c.listening(t)
	said := func(p *proposal) string {
		w := c.world(t, port)
		got := c.attempt(t, w, p, nil)
		if text := got.texts() + string(got.raw); !got.IsError || !strings.Contains(text, c.want) {
			t.Errorf("jailed %v: it does not fail with %q: %s", p != nil, c.want, text)
		}
		if strings.Contains(string(got.raw), "mcp-jail/") || len(got.Content) > 1 {
			t.Errorf("the jail says: %s", got.raw)
		}
		return w.hide(string(got.raw))
	}
	jailed := said(&proposal{})
	if !testkit.Long() {
		return
	}
	if plain := said(nil); plain != jailed && !c.otherWords {
		t.Errorf("the jail makes a difference:\n plain  %s\n jailed %s", plain, jailed)
	}
}

// failsSaying returns a script that prints words and fails.
func failsSaying(words string) string { return "cat >&2 <<'EOF'\n" + words + "\nEOF\nexit 1" }

// unreadableFiles creates a file and a directory without any permission, and a script
// without an execute bit.
func unreadableFiles(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.work, map[string]string{"closed.txt": "x", "shut/": "", "run.sh": "#!/bin/sh\n"})
	must(t, os.Chmod(filepath.Join(w.work, "closed.txt"), 0))
	must(t, os.Chmod(filepath.Join(w.work, "shut"), 0))
}

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

// TestOtherFailuresUnchanged tests failures of real programs that only look as if the
// jail caused them.
func TestOtherFailuresUnchanged(t *testing.T) {
	checkUnchanged(t, []adviceCase{
		{name: "cat of nothing", before: withInput, script: "cat absent.txt", want: "No such file or directory"},
		{name: "cat of nothing anywhere", before: withInput, script: "cat /nowhere/absent.txt", want: "No such file or directory"},
		{name: "cat of nothing beside the grant", flags: "--write .", before: withInput, script: "cat $W/home/absent/x", want: "No such file or directory"},
		{name: "cat of a closed file", ordinary: true, before: unreadableFiles, script: "cat closed.txt", want: "Permission denied"},
		{name: "ls of a closed directory", ordinary: true, before: unreadableFiles, script: "ls shut", want: "Permission denied"},
		{name: "python opens a closed file", ordinary: true, before: unreadableFiles, argv: python(`open("closed.txt", "a")`), want: "PermissionError: [Errno 13]"},
		{name: "node opens a closed file", needs: []string{"node"}, ordinary: true, before: unreadableFiles, argv: node(`require("fs").readFileSync("$W/work/closed.txt")`), want: "EACCES"},
		{name: "no execute bit", before: unreadableFiles, script: "./run.sh", want: "Permission denied"},
		{name: "no execute bit, python", before: unreadableFiles, argv: python(`import subprocess; subprocess.run(["./run.sh"])`), want: "Permission denied"},
		{name: "mkdir of what is there", before: withInput, script: "mkdir in.txt", want: "File exists"},
		{name: "rm of a directory", before: unreadableFiles, script: "rm shut", want: "Is a directory"},
		{name: "test -f", script: "test -f absent.txt", want: "isError"},
		{name: "grep without a match", before: withInput, script: "grep nothing in.txt", want: "isError"},
		{name: "no such program", argv: bash("nonesuch --help"), want: "nonesuch: command not found"},
		{name: "python ValueError", argv: python(`int("x")`), want: "ValueError: invalid literal"},
		{name: "python KeyError", argv: python(`import os; os.environ["NOT_SET_ANYWHERE"]`), want: "KeyError: 'NOT_SET_ANYWHERE'"},
		{name: "python ModuleNotFoundError", argv: python(`import nonesuch`), want: "No module named 'nonesuch'"},
		{name: "python json", before: withInput, argv: python(`import json; json.load(open("in.txt"))`), want: "JSONDecodeError"},
		{name: "node ENOENT", needs: []string{"node"}, argv: node(`require("fs").readFileSync("/nowhere/absent.json")`), want: "ENOENT"},
		{name: "node TypeError", needs: []string{"node"}, argv: node(`undefined.x`), want: "TypeError"},
		{name: "node module", needs: []string{"node"}, argv: node(`require("./absent")`), want: "Cannot find module './absent'"},
		{name: "sqlite3 syntax", needs: []string{"sqlite3"}, argv: []string{"sqlite3", ":memory:", "selec 1"}, want: "syntax error"},
		{name: "sqlite3 no table", needs: []string{"sqlite3"}, argv: []string{"sqlite3", "$W/work/new.db", "select * from absent"}, want: "no such table"},
		{name: "git conflict", needs: []string{"git"}, before: conflicting, script: "git merge main", want: "CONFLICT (content)"},
		{name: "git pathspec", needs: []string{"git"}, before: withRepository, script: "git add absent", want: "did not match any files"},
		{name: "no repository anywhere", needs: []string{"git"}, script: "git status", want: "not a git repository", otherWords: true},
		{name: "a status 403", needs: []string{"curl"}, rules: writeRule(".") + localRule, port: servePort(403, "no"), script: "curl -fsS http://localhost:$PORT/x", want: "returned error: 403"},
		{name: "a status 404", rules: writeRule(".") + localRule, port: servePort(404, "no"), argv: python(`import urllib.request; urllib.request.urlopen("http://localhost:$PORT/x")`), want: "HTTP Error 404"},
		{name: "a status 401 in words", needs: []string{"curl"}, rules: writeRule(".") + localRule, port: servePort(401, `{"message":"permission denied for this token"}`), script: "curl -sS http://localhost:$PORT/x >&2; exit 1", want: "permission denied for this token"},
		{name: "PostgreSQL's permissions", script: failsSaying("ERROR:  permission denied for table accounts"), want: "accounts"},
		{name: "a remote path", script: failsSaying("Error: 403 Forbidden: you do not have access to /projects/42/members"), want: "403"},
		{name: "a remote permission", script: failsSaying("rsync: [sender] change_dir \"/srv/data\" failed: Permission denied (13)"), want: "(13)"},
		{name: "Docker", script: failsSaying("permission denied while trying to connect to the Docker daemon socket at unix:///nowhere/docker.sock: dial unix /nowhere/docker.sock: connect: permission denied"), want: "Docker"},
		{name: "a path of a service", script: failsSaying("Error: EACCES: permission denied, open '/projects/42/config.yml'"), want: "config.yml"},
		{name: "a token's rights", script: failsSaying(`{"message":"Resource not accessible by integration","documentation_url":"https://docs.github.com/rest","status":"403"}`), want: "integration"},
		{name: "the allow-list of the filesystem server", needs: []string{"npm"}, before: withInput, server: filesystemAt("$W/work"), use: useRead("home/notes.txt"), want: "Access denied - path outside allowed directories"},
		{name: "the same, of what is not there", needs: []string{"npm"}, before: withInput, server: filesystemAt("$W/work"), use: useRead("work/absent.txt"), want: "ENOENT"},
		{name: "the server without such a tool", needs: []string{"npm"}, before: withInput, server: filesystemAt("$W/work"), use: func(_ *testing.T, _ *world, s *clientSession) toolResult {
			return s.tool("permission_denied", map[string]any{"path": "/etc/shadow"})
		}, want: "not found"},
		{name: "arguments that the server refuses", needs: []string{"npm"}, before: withInput, server: filesystemAt("$W/work"), use: func(_ *testing.T, _ *world, s *clientSession) toolResult {
			return s.tool("read_text_file", map[string]any{"file": "/root/x"})
		}, want: "nvalid"},
		{name: "an error of the protocol", before: withInput, server: execErrors, script: "cat absent.txt", want: "No such file or directory"},
	})
}

// TestGrantedHostFails tests that the answer names a granted host that this machine cannot reach.
func TestGrantedHostFails(t *testing.T) {
	eachCase(t, []adviceCase{
		{name: "a port without a listener", flags: "--net localhost:$PORT", port: unusedPort, argv: python(`import socket; socket.create_connection(("localhost", $PORT)).recv(1)`), want: `localhost:$PORT is allowed, and this machine could not connect to it: connection refused`},
		{name: "no such host", flags: "--net absent.invalid", argv: python(`import socket; socket.create_connection(("absent.invalid", 443))`), want: `absent.invalid is allowed, and this machine could not resolve it: `},
	}, func(c adviceCase, t *testing.T) {
		port := c.listening(t)
		w := c.world(t, port)
		got := c.attempt(t, w, &proposal{}, nil)
		want := "[mcp-jail] The jail blocked nothing here: " + w.fill(c.want)
		if text := got.texts(); !strings.Contains(text, want) {
			t.Errorf("want %s in %s", want, text)
		}
	})
}
