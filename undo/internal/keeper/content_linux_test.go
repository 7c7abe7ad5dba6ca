package keeper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// TestKeepGrowing tests that a file can grow while it is kept: its data may then begin beyond the
// size that it had.
func TestKeepGrowing(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	testkit.Must(t, err)
	defer f.Close()
	data, err := os.Create(filepath.Join(dir, "data"))
	testkit.Must(t, err)
	defer data.Close()
	testkit.Must(t, f.Truncate(object.MinClone))
	st, err := object.LookPath(f.Name())
	testkit.Must(t, err)
	_, err = f.WriteAt([]byte("later"), 1<<20)
	testkit.Must(t, err)
	if next, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_DATA); err != nil || next < st.Size {
		t.Skipf("the filesystem has no holes: %d, %v", next, err)
	}
	k := &Keeper{Data: int(data.Fd())}
	k.start()
	if err := k.copyRange(int(f.Fd()), 0, &st); err != nil || st.Size != object.MinClone {
		t.Errorf("%v, %d bytes", err, st.Size)
	}
}
