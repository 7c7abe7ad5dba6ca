package kernel

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCgroupSettings: what systemd is asked for, and what is read back. Few machines of ours have a systemd that
// gives a jail a cgroup.
func TestCgroupSettings(t *testing.T) {
	for want, l := range map[string]limits{
		"[]": {},
		"[{memory.max MemoryMax 67108864} {memory.swap.max MemorySwapMax 0}]": {memoryMB: 64},
		"[{pids.max TasksMax 40}]": {tasks: 40},
		"[{memory.max MemoryMax 67108864} {memory.swap.max MemorySwapMax 0} {pids.max TasksMax 40}]": {memoryMB: 64, tasks: 40},
	} {
		testkit.Equal(t, l, fmt.Sprint(l.settings()), want)
	}
}
