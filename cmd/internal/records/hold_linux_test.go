package records

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestLock tests that the directory of a server is held from the start of a session, by
// several sessions at once.
func TestLock(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	must(t, os.MkdirAll(Path(host, "s"), 0o700))
	d, err := Open(host, "s")
	must(t, err)
	defer d.Close()
	if d.Running() {
		t.Error("a server without a session runs")
	}
	if unlock, free := d.Lock(); !free {
		t.Error("held by no session")
	} else {
		unlock()
	}
	New(host, "s").MarkStart()
	New(host, "s").MarkStart()
	if _, free := d.Lock(); free || !d.Running() {
		t.Error("not held by two sessions")
	}
}
