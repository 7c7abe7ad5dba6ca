package hostfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var must = testkit.Must

// TestCheckPrivate checks CheckPrivate on real directories.
func TestCheckPrivate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/state/servers/x", 0o700))
	must(t, os.Symlink("state", dir+"/link"))
	must(t, os.Symlink("x", dir+"/state/servers/y"))
	for _, c := range []struct{ dir, name, want string }{
		{"state", "servers/x/last.json", ""},
		{"link", "servers/x/last.json", ""},
		{"state", "servers/y/last.json", "is a symbolic link (to x)"},
		{"absent", "servers/y", ""},
	} {
		err := NewLinkResolver(OwnerHost()).CheckPrivate(filepath.Join(dir, c.dir), c.name)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.dir, c.name, err)
		}
	}
	must(t, os.Chmod(dir+"/state", 0o702))
	if err := NewLinkResolver(OwnerHost()).CheckPrivate(dir+"/state", "trust.toml"); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a directory of all: %v", err)
	}
}
