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

// TestInstallLargest: the longest program that the kernel takes reaches it from a task without a stub, too. The
// kernel refuses this one for what it says, for it does not end with a return.
func TestInstallLargest(t *testing.T) {
	if _, err := Install(&stub.Task{}, make([]byte, 8*maxProgram), 0); err == nil || err == unix.ENOMEM {
		t.Errorf("%v, want EINVAL or EACCES", err)
	}
}
