//go:build unix

package mcpproxy

import (
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSpillFull limits the size of files in the middle of a frame.
func TestSpillFull(t *testing.T) {
	smallFrames(t)
	var old syscall.Rlimit
	testkit.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	small := old
	small.Cur = 512<<10 + 100 // of smallFrames
	testkit.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	relays(t, strings.Repeat("x", maxInMemory), strings.Repeat("y", 3*maxInMemory+1))
}
