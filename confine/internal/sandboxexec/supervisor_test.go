//go:build darwin || linux

package sandboxexec

import (
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// TestExitEvent: a server that has ended by itself keeps its status, also where sawEnd sees its end.
func TestExitEvent(t *testing.T) {
	for _, c := range []struct {
		status   syscall.WaitStatus
		num, pid int
	}{{0, 0, 0}, {3 << 8, 3, 0}, {syscall.WaitStatus(syscall.SIGKILL), 137, 9}} {
		if e := exitEvent(c.status); e.Kind != spec.EventExit || e.Num != c.num || e.Pid != c.pid {
			t.Errorf("%#x: %+v", uint32(c.status), e)
		}
	}
}
