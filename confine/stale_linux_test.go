package confine_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStaleSocket: only a socket at which nothing listens is one that may be removed. A server can try to connect to any
// path.
func TestStaleSocket(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	listen := func(name string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at(name), Net: "unix"})
		testkit.Must(t, err)
		l.SetUnlinkOnClose(false)
		t.Cleanup(func() { l.Close() })
		return l
	}
	listen("used")
	testkit.Must(t, listen("stale").Close())
	testkit.Must(t, os.WriteFile(at("file"), nil, 0o600))
	testkit.Must(t, os.Symlink("stale", at("link")))
	for name, want := range map[string]bool{"used": false, "stale": true, "file": false, "link": false, "none": false} {
		if got := confine.StaleSocket(at(name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
