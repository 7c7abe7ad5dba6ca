package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestRename: the directory of an id moves to another id, unless that has a directory already.
func TestRename(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	for name, c := range map[string]struct {
		before func(host hostfs.Host) error
		moved  bool
		err    string
	}{
		"free":              {nil, true, ""},
		"the id has a HOME": {func(host hostfs.Host) error { return os.MkdirAll(Path(host, id), 0o700) }, false, "has a private HOME already"},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}
		d, err := private.Make(host.StateDir, filepath.Join(ServersDir, "s"))
		if err == nil && c.before != nil {
			err = c.before(host)
		}
		testkit.Must(t, err)
		d.Close()
		err = Rename(host, "s", id)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(Path(host, "s")); (err != nil) != c.moved {
			t.Errorf("%s: moved: %t", name, err != nil)
		}
	}
	if err := Rename(hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}, "none", id); err != nil {
		t.Error(err)
	}
}
