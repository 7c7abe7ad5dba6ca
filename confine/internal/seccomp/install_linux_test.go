package seccomp

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// TestInstallRefusesNonsense: what is no whole number of instructions, or too many, is not passed to
// the kernel.
func TestInstallRefusesNonsense(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 7), make([]byte, 12), make([]byte, 8*(maxProgram+1))} {
		if _, err := Install(&stub.Task{}, b, 0); err != unix.EINVAL {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}
