//go:build linux

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// This file has what the cases of advice_*_test.go and no_advice_test.go are made of.

// readRule and writeRule return access rules for a path.
func readRule(path string) string { return "[[access.fs]]\npath = \"" + path + "\"\nread = true\n" }

func writeRule(path string) string { return readRule(path) + "write = true\n" }

// localRule grants the port $PORT of the host.
const localRule = "[[access.net]]\nhost = \"localhost\"\nport = $PORT\nallow = true\n"

func bash(script string) []string   { return []string{"bash", "-c", script} }
func python(script string) []string { return []string{"/usr/bin/python3", "-c", script} }
func node(script string) []string   { return []string{"node", "-e", script} }

// files returns a setup that creates files below the base of the world.
func files(files map[string]string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		w.plant(t, w.base, files)
	}
}

// program returns a setup that creates an executable file in the workspace.
func program(name, text string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		w.plant(t, w.work, map[string]string{name: text})
		must(t, os.Chmod(filepath.Join(w.work, name), 0o755))
	}
}

// servePort returns a function that starts an HTTP server on the host and returns its
// port.
func servePort(status int, body string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, status) }))
		t.Cleanup(s.Close)
		_, port, err := net.SplitHostPort(s.Listener.Addr().String())
		must(t, err)
		return port
	}
}

// withProgramAtHome installs a program in the home directory.
func withProgramAtHome(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.home, map[string]string{"bin/mine": "#!/bin/sh\necho mine\n"})
	must(t, os.Chmod(filepath.Join(w.home, "bin", "mine"), 0o755))
}

// withRepository makes the workspace a git repository.
func withRepository(t *testing.T, w *world) { repository(t, w, w.work) }

// withNestedDirectory makes a git repository with a subdirectory.
func withNestedDirectory(t *testing.T, w *world) {
	repository(t, w, filepath.Join(w.home, "repo"))
	w.plant(t, w.home, map[string]string{"repo/sub/f": "f"})
}

func withDatabase(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.home, map[string]string{"data/": ""})
	must(t, w.plain("sqlite3", filepath.Join(w.home, "data", "t.db"), "create table t (x)").Run())
}

// useTool returns a use that calls a tool with a path below the base of the world.
func useTool(tool, key, file string) use {
	return func(_ *testing.T, w *world, s *clientSession) toolResult {
		return s.tool(tool, map[string]any{key: filepath.Join(w.base, file)})
	}
}

// useWrite returns a use that writes a file with the official filesystem server.
func useWrite(file string) use {
	return func(_ *testing.T, w *world, s *clientSession) toolResult {
		return s.tool("write_file", map[string]any{"path": filepath.Join(w.base, file), "content": "new"})
	}
}

// execErrors returns the command of the exec server, which then reports failures as
// JSON-RPC errors.
func execErrors(w *world) []string {
	return []string{"/usr/bin/python3", filepath.Join(w.base, "server", "exec.py"), "errors"}
}

func withSocket(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.home, map[string]string{"run/": ""})
	for _, dir := range []string{filepath.Join(w.home, "run"), w.work} {
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		must(t, err)
		t.Cleanup(func() { l.Close() })
	}
}

// filesystemAt returns the command of the official filesystem server for directories.
func filesystemAt(dirs ...string) func(*world) []string {
	return func(w *world) []string {
		argv := []string{"node", server(filesystem)}
		for _, dir := range dirs {
			argv = append(argv, strings.ReplaceAll(dir, "$W", w.base))
		}
		return argv
	}
}

func useRead(file string) use {
	return func(_ *testing.T, w *world, s *clientSession) toolResult {
		return s.tool("read_text_file", map[string]any{"path": filepath.Join(w.base, file)})
	}
}

// unusedPort returns a port on which nothing listens.
func unusedPort(t *testing.T) string {
	port := ""
	t.Run("", func(t *testing.T) { port = hostPort(t) }) // the end of the subtest closes it
	return port
}
