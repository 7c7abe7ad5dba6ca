package keeper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// TestOpenerSetsNoSetID tests that the keeper gives no mode to a set-id file, not even the one that
// the file had, to read it.
func TestOpenerSetsNoSetID(t *testing.T) {
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(self)
	name := filepath.Join(t.TempDir(), "f")
	testkit.Must(t, os.WriteFile(name, nil, 0o600))
	for mode, want := range map[uint32]uint32{0o311: 0o711, 0o4311: 0o4311, 0o2311: 0o2311} {
		testkit.Must(t, unix.Chmod(name, mode))
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		testkit.Must(t, err)
		lock := opener{self: self}.unlock(fd, 0o400)
		now, err := object.Look(fd, "")
		testkit.Must(t, err)
		if now.Mode != want {
			t.Errorf("mode %o became %o, want %o", mode, now.Mode, want)
		}
		lock()
		unix.Close(fd)
		if now, err := object.LookPath(name); err != nil || now.Mode&0o777 != 0o311 {
			t.Errorf("%v, it has mode %o", err, now.Mode)
		}
	}
}
