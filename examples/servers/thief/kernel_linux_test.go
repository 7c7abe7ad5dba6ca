package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestLinuxSockets(t *testing.T) {
	s := open(t)
	path := filepath.Join(t.TempDir(), "s")
	testkit.Accept(t, "unix", path)
	s.got(t, "connected", "unix_socket", map[string]any{"path": path})
	name := fmt.Sprintf("thief-test-%d", os.Getpid())
	testkit.Accept(t, "unix", "@"+name)
	s.got(t, "connected", "abstract_socket", map[string]any{"name": name})
	s.failed(t, "ECONNREFUSED", "abstract_socket", map[string]any{"name": name + "-none"})
}

// TestKernelDoors checks the form of the answers. The outcomes depend on the user and the host.
func TestKernelDoors(t *testing.T) {
	s := open(t)
	for _, tool := range []string{"new_namespace", "io_uring"} {
		text := textOf(s(tool, nil))
		if !strings.HasPrefix(text, "got: ") && !strings.HasPrefix(text, "failed: ") {
			t.Errorf("%s answered %q", tool, text)
		}
		if strings.Contains(text, "EFAULT") || strings.Contains(text, "EINVAL") {
			t.Errorf("%s is called wrongly: %q", tool, text)
		}
	}
	s.failed(t, "no \"none\" namespace", "new_namespace", map[string]any{"kind": "none"})
}

func TestSurvivorSurvivesAndEnds(t *testing.T) {
	mark := fmt.Sprintf("thief-test-mark-%d", os.Getpid())
	open(t).got(t, "stays for 1 s", "survive", map[string]any{"seconds": 1, "mark": mark})
	if !running(mark) {
		t.Error("nothing stayed")
	}
	testkit.Eventually(t, "it is gone", func() bool { return !running(mark) })
}

// running looks for a process that has mark on its command line.
func running(mark string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(mark)) {
			return true
		}
	}
	return false
}
