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
	dir := filepath.Dir(File(host, "s"))
	if unlock, free := Lock(dir); !free || Running(host, "s") {
		t.Error("a server without a session runs")
	} else {
		unlock()
	}
	must(t, os.MkdirAll(dir, 0o700))
	if unlock, free := Lock(dir); !free {
		t.Error("held by no session")
	} else {
		unlock()
	}
	New(host, "s").MarkStart()
	New(host, "s").MarkStart()
	if _, free := Lock(dir); free || !Running(host, "s") {
		t.Error("not held by two sessions")
	}
}
