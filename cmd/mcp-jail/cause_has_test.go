//go:build linux

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
