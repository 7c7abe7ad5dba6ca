package tlsworker

import (
	"errors"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// The memory above which Go collects more often, and the limit of memory.
const (
	softMemory = 64 << 20
	hardMemory = 256 << 20
)

// restrictSelf keeps other processes of the user from inspecting this one (ptrace(2)), and bounds its memory.
func restrictSelf() error {
	debug.SetMemoryLimit(softMemory)
	return errors.Join(
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: hardMemory, Max: hardMemory}),
	)
}
