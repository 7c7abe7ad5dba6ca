package confine

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLimitReached: what goes on is one denial, and each process that was ended its own.
func TestLimitReached(t *testing.T) {
	var all []policy.Denial
	for _, m := range []struct {
		key, what string
		value     int
		pid       int
	}{
		{spec.KeyMemory, "memory", 64, 0}, {spec.KeyMemory, "memory", 64, 0}, {spec.KeyMemory, "space in /tmp", 64, 0}, {spec.KeyMemory, "memory", 128, 0},
		{spec.KeyMemory, "memory", 64, 7}, {spec.KeyMemory, "memory", 64, 7}, {spec.KeyProcesses, "processes", 64, 0}, {spec.KeyMemory, "memory", 64, 0},
	} {
		all = limitReached(all, m.key, m.what, m.value, m.pid, "")
	}
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprint(d.Operation, ", ", d.Target, ", ", d.PID, ", ", d.Count))
	}
	want := []string{
		"memory, memory_mb = 64, 0, 3", "space in /tmp, memory_mb = 64, 0, 1", "memory, memory_mb = 128, 0, 1",
		"memory, memory_mb = 64, 7, 1", "memory, memory_mb = 64, 7, 1", "processes, processes = 64, 0, 1",
	}
	testkit.Equal(t, "", got, want)
	if first, last := all[0].Time, all[len(all)-1].Time; first.Before(last) {
		t.Errorf("the time of what goes on, %v, is not that of the latest, after %v", first, last)
	}
}
