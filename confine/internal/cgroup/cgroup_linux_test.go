package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSweep checks that Sweep removes the cgroups of launchers that ended, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	dead := 1 << 30 // beyond any pid_max
	for _, name := range []string{fmt.Sprintf("mcp-jail.%d.1", dead), fmt.Sprintf("mcp-jail.%d.1", os.Getpid()), "mcp-jail.x.1", fmt.Sprintf("other.%d.1", dead)} {
		testkit.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	Sweep(dir)
	if left := proc.ReadDirNames(dir); len(left) != 3 || slices.Contains(left, fmt.Sprintf("mcp-jail.%d.1", dead)) {
		t.Errorf("left: %q", left)
	}
}
