//go:build linux || darwin

package tlsworker

import (
	"fmt"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Resources of the process: the memory above which Go collects more often, the limit of its
// memory (macOS does not count mapped memory, so it has none there), and descriptors beside those of
// its connections.
const (
	softMemory  = 64 << 20
	hardMemory  = 256 << 20
	descriptors = 64
)

// limitResources sets the limits of the process for so many connections at once.
func limitResources(connections int) error {
	if connections <= 0 {
		connections = policy.MaxConnections
	}
	debug.SetMemoryLimit(softMemory)
	for _, r := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_DATA, hardMemory},
		// A connection may briefly have several upstream connections while one replaces another.
		{unix.RLIMIT_NOFILE, uint64(connections*4 + descriptors)},
	} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(r.resource, &old); err != nil {
			return err
		}
		limit := min(r.value, old.Max)
		if err := syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit %d: %w", r.resource, err)
		}
	}
	return nil
}
