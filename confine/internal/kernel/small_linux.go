package kernel

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
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
	if unix.Sysinfo(&info) != nil {
		return true
	}
	own, _ := CgroupPath(sys.ReadLine("/proc/self/cgroup"))
	return isSmall(uint64(info.Totalram)*uint64(info.Unit), "/sys/fs/cgroup", own)
}

func isSmall(memory uint64, cgroups, own string) bool {
	if memory < smallMemory {
		return true
	}
	for dir := path.Clean("/" + own); ; dir = path.Dir(dir) { // in a container "/" is its own
		if at := path.Join(cgroups, dir); isLimit(at+"/pids.max", smallTasks) || isLimit(at+"/memory.max", smallMemory) {
			return true
		}
		if dir == path.Dir(dir) {
			return false
		}
	}
}

// isLimit reports whether a file of a cgroup has a number below least, and not "max".
func isLimit(file string, least uint64) bool {
	text, _ := os.ReadFile(file)
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return err == nil && limit < least
}
