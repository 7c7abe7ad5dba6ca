package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"

	"golang.org/x/sys/unix"
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
	s.failed(t, "no kind", "raw_socket", map[string]any{"kind": "none"})
	s.got(t, "kind netlink", "raw_socket", map[string]any{"kind": "netlink"})
}

func TestMemory(t *testing.T) { open(t).got(t, hello, "memfd_exec", nil) }

// TestKernelDoors checks the form of the answers, and that the process is unchanged afterwards. The outcomes depend on the
// user and the host.
func TestKernelDoors(t *testing.T) {
	s := open(t)
	uid, namespace := os.Getuid(), link(t, "/proc/self/ns/user")
	for _, tool := range []string{"mount", "chroot", "new_namespace", "ptrace", "setuid", "io_uring", "bpf", "keyctl", "open_by_handle"} {
		text := textOf(s(tool, nil))
		if !strings.HasPrefix(text, "got: ") && !strings.HasPrefix(text, "failed: ") {
			t.Errorf("%s answered %q", tool, text)
		}
		if strings.Contains(text, "EFAULT") || strings.Contains(text, "EINVAL") {
			t.Errorf("%s is called wrongly: %q", tool, text)
		}
	}
	if os.Getuid() != uid || link(t, "/proc/self/ns/user") != namespace {
		t.Error("the server is not what it was")
	}
	s.failed(t, "no \"none\" namespace", "new_namespace", map[string]any{"kind": "none"})
}

func link(t *testing.T, path string) string {
	t.Helper()
	target, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestDoomedThreadIsNotMain(t *testing.T) {
	for range 50 {
		onDoomedThread(func() {
			if unix.Gettid() == unix.Getpid() {
				t.Error("ran on the main thread, which cannot end")
			}
		})
	}
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
