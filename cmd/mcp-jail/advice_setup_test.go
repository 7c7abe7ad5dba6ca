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

// What the rows of causes and innocents are made of.

// readRule and writeRule are rules as most users write them.
func readRule(path string) string { return "[[access.fs]]\npath = \"" + path + "\"\nread = true\n" }

func writeRule(path string) string { return readRule(path) + "write = true\n" }

// localRule grants $PORT.
const localRule = "[[access.net]]\nhost = \"localhost\"\nport = $PORT\nallow = true\n"

func bash(script string) []string   { return []string{"bash", "-c", script} }
func python(script string) []string { return []string{"/usr/bin/python3", "-c", script} }
func node(script string) []string   { return []string{"node", "-e", script} }

// files plants files below the place of the test.
func files(files map[string]string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		w.plant(t, w.base, files)
	}
}

// program plants one that may be executed.
func program(name, text string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		w.plant(t, w.work, map[string]string{name: text})
		must(t, os.Chmod(filepath.Join(w.work, name), 0o755))
	}
}

// serving is a server of the host's.
func serving(status int, body string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, status) }))
		t.Cleanup(s.Close)
		_, port, err := net.SplitHostPort(s.Listener.Addr().String())
		must(t, err)
		return port
	}
}

// withProgramAtHome is one that the user has installed.
func withProgramAtHome(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.home, map[string]string{"bin/mine": "#!/bin/sh\necho mine\n"})
	must(t, os.Chmod(filepath.Join(w.home, "bin", "mine"), 0o755))
}

// withRepository is the workspace.
func withRepository(t *testing.T, w *world) { repository(t, w, w.work) }

// withNestedDirectory is one of a repository.
func withNestedDirectory(t *testing.T, w *world) {
	repository(t, w, filepath.Join(w.home, "repo"))
	w.plant(t, w.home, map[string]string{"repo/sub/f": "f"})
}

func withDatabase(t *testing.T, w *world) {
	t.Helper()
	w.plant(t, w.home, map[string]string{"data/": ""})
	must(t, w.plain("sqlite3", filepath.Join(w.home, "data", "t.db"), "create table t (x)").Run())
}

// calling calls a tool with a file of the test's place.
func calling(tool, key, file string) use {
	return func(_ *testing.T, w *world, s *session) toolResult {
		return s.tool(tool, map[string]any{key: filepath.Join(w.base, file)})
	}
}

// writing writes a file by the official filesystem server.
func writing(file string) use {
	return func(_ *testing.T, w *world, s *session) toolResult {
		return s.tool("write_file", map[string]any{"path": filepath.Join(w.base, file), "content": "new"})
	}
}

// execErrors is the exec server that fails by errors of the protocol.
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

// filesystemAt is the official filesystem server for directories.
func filesystemAt(dirs ...string) func(*world) []string {
	return func(w *world) []string {
		argv := []string{"node", server(filesystem)}
		for _, dir := range dirs {
			argv = append(argv, strings.ReplaceAll(dir, "$W", w.base))
		}
		return argv
	}
}

func reading(file string) use {
	return func(_ *testing.T, w *world, s *session) toolResult {
		return s.tool("read_text_file", map[string]any{"path": filepath.Join(w.base, file)})
	}
}

// unusedPort is a port at which nothing listens.
func unusedPort(t *testing.T) string {
	port := ""
	t.Run("", func(t *testing.T) { port = hostPort(t) }) // closed at its end
	return port
}
