//go:build unix

package hostfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestFileIDIsStat checks that a FileID has the numbers of stat(2). Package confine
// compares them with stat(2).
func TestFileIDIsStat(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir()), "/", "/dev/null", "/proc"} {
		info, err := lstat(name)
		if err != nil {
			continue
		}
		fi, err := os.Lstat(name)
		testkit.Must(t, err)
		if st := fi.Sys().(*syscall.Stat_t); uint64(st.Dev) != info.ID.Dev || uint64(st.Ino) != info.ID.Ino || fi.Mode().Type() != info.Mode.Type() {
			t.Errorf("%s: %+v, stat says %d %d %v", name, info, st.Dev, st.Ino, fi.Mode())
		}
	}
}
