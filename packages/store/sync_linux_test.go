package store

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSealIsSynced tests that a seal which a loss of power could take away is none.
func TestSealIsSynced(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "store")}
	t.Cleanup(func() { removeAll(s) })
	stage := testkit.Get(s.Stage("k"))(t)
	work := filepath.Join(stage.Dir, "work")
	var err error
	seal := func() {
		_, err = stage.Seal(id(), work)
	}
	plant(t, work, map[string]string{"run": "x"})
	testkit.Must(t, testkit.WithFailing(unix.SYS_FSYNC, unix.EIO, seal))
	testkit.Is(t, "without fsync", err, unix.EIO)
	plant(t, work, map[string]string{"run": "x"})
	seal()
	testkit.Works(t, "control: with it", err)
}
