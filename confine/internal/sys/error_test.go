package sys

import (
	"os"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestErrorText: an error says once what the system answered.
func TestErrorText(t *testing.T) {
	whole := &os.PathError{Op: "fork/exec", Path: "/x", Err: syscall.EACCES}
	for want, e := range map[string]*Error{
		"step init failed: /x: permission denied":                                                          {Step: "init", Errno: syscall.EACCES, Detail: "/x"},
		"step init failed: fork/exec /x: permission denied":                                                {Step: "init", Errno: Errno(whole), Detail: whole.Error()},
		"step init failed: permission denied":                                                              {Step: "init", Errno: syscall.EACCES},
		"step seccomp failed: the kernel has no room for another compiled filter (net.core.bpf_jit_limit)": {Step: "seccomp", Errno: noRoomForCode},
	} {
		testkit.Equal(t, "", e.Error(), want)
	}
}
