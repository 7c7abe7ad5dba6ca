//go:build unix

package mcpproxy

import (
	"strings"
	"syscall"
	"testing"
)

// TestSpillFull limits the size of files in the middle of a frame.
func TestSpillFull(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	small := old
	small.Cur = maxInMemory + 100
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	relays(t, strings.Repeat("x", maxInMemory), strings.Repeat("y", 3*maxInMemory+1))
}
