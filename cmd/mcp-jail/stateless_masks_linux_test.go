package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStatelessMasks: a program of the user links a hidden file again while a warm process waits, in whose jail no
// mask lies on the name then. The next call does not read the file.
func TestStatelessMasks(t *testing.T) {
	t.Parallel()
	for what, again := range map[string]func(hidden, other string) error{
		"nothing": func(string, string) error { return nil },
		"removed": func(hidden, other string) error {
			return errors.Join(os.Link(hidden, other), os.Remove(hidden), os.Rename(other, hidden))
		},
		"renamed": func(hidden, other string) error {
			return errors.Join(os.Rename(hidden, other), os.Link(other, hidden))
		},
	} {
		w := newWorld(t)
		w.plant(t, w.work, map[string]string{".env": "KEY=hidden", "note": "a note"})
		program := w.copySelf(t, "victim")
		s := w.statelessSession(t, program, "[servers.s.tools.read]\nwarm = 1\n[[servers.s.tools.read.access.fs]]\npath = \".\"\nread = true\n")
		s.tools()
		testkit.Eventually(t, "one process has listed the tools, and another one waits for a call", func() bool {
			answered := 0
			for _, p := range w.processes() {
				if pid, argv, _ := strings.Cut(p, " "); strings.TrimSpace(argv) == program && hasAnswered(pid) {
					answered++
				}
			}
			return answered == 2
		})
		must(t, again(filepath.Join(w.work, ".env"), filepath.Join(w.base, "other")))
		if text := s.tool("read", map[string]any{"arg": ".env"}).texts(); strings.Contains(text, "KEY") {
			t.Errorf("%s: the hidden file was read: %s", what, text)
		}
		if text := s.tool("read", map[string]any{"arg": "note"}).texts(); !strings.Contains(text, "a note") {
			t.Errorf("%s: the control: %s", what, text)
		}
		s.close()
		w.noneLeft(t)
	}
}

// hasAnswered reports whether a server has written an answer.
func hasAnswered(pid string) bool {
	text, _ := os.ReadFile("/proc/" + pid + "/io")
	_, rest, _ := strings.Cut(string(text), "wchar: ")
	written, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(written)
	return n > 100
}
