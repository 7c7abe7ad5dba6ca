package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSmallHost: a host is small with little memory, or if the cgroup of this process, or one above it, leaves room
// for little memory or few tasks.
func TestSmallHost(t *testing.T) {
	for _, c := range []struct {
		what   string
		memory uint64
		files  string // name=content
		want   bool
	}{
		{"no cgroup", smallMemory, "", false},
		{"little memory", smallMemory - 1, "", true},
		{"no limit", smallMemory, "pids.max=max memory.max=max above/own/pids.max=max above/own/memory.max=max", false},
		{"enough", smallMemory, "pids.max=256 above/own/memory.max=1073741824", false},
		{"a container with few tasks", smallMemory, "pids.max=255", true},
		{"a container with little memory", smallMemory, "memory.max=1073741823", true},
		{"a cgroup with few tasks", smallMemory, "pids.max=max above/own/pids.max=100", true},
		{"a cgroup above with few tasks", smallMemory, "above/pids.max=200 above/own/pids.max=max", true},
		{"a cgroup with little memory", smallMemory, "above/own/memory.max=536870912", true},
	} {
		root := t.TempDir()
		testkit.Must(t, os.MkdirAll(filepath.Join(root, "above/own"), 0o700))
		for file := range strings.FieldsSeq(c.files) {
			name, content, _ := strings.Cut(file, "=")
			testkit.Must(t, os.WriteFile(filepath.Join(root, name), []byte(content+"\n"), 0o600))
		}
		testkit.Equal(t, fmt.Sprintf("%s: small", c.what), isSmall(c.memory, root, "/above/own"), c.want)
	}
}
