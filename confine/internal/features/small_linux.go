package features

import (
	"os"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"golang.org/x/sys/unix"
)

// A host is small with less memory than smallMemory, or with room for fewer tasks than smallTasks in
// its cgroup. Each has two tasks and a thread of the launcher.
const (
	smallMemory = 1 << 30 // bytes
	smallTasks  = 256
)

// IsSmallHost reports whether processes that wait for their use would be too dear on this host.
func IsSmallHost() bool {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil || uint64(info.Totalram)*uint64(info.Unit) < smallMemory {
		return true
	}
	own, _ := cgroup.Path(proc.ReadLine("/proc/self/cgroup"))
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup" + own} { // in a container the first is its own
		if isLimit(dir+"/pids.max", smallTasks) || isLimit(dir+"/memory.max", smallMemory) {
			return true
		}
	}
	return false
}

// isLimit reports whether a file of a cgroup has a number below least, and not "max".
func isLimit(file string, least uint64) bool {
	text, _ := os.ReadFile(file)
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return err == nil && limit < least
}
