//go:build darwin || linux

package sandboxexec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLinksStayInHome: the copy of a HOME has the links that the server made in its own. The
// supervisor, which nothing confines, makes nothing where they lead.
func TestLinksStayInHome(t *testing.T) {
	dir := t.TempDir()
	home, outside := filepath.Join(dir, "home"), filepath.Join(dir, "outside")
	for _, d := range []string{filepath.Join(home, "own"), outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for at, target := range map[string]string{"config": outside, "up": "../outside", "inside": "own"} {
		if err := os.Symlink(target, filepath.Join(home, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, made := range map[string]string{
		"config/tool": "", "config/a/tool": "", "up/tool": "",
		"tool": "home/tool", "a/b/tool": "home/a/b/tool", "inside/tool": "home/own/tool",
	} {
		err := makeLinks(&spec.Spec{Home: home, Links: []policy.Link{{Path: filepath.Join(home, name), Target: "/target"}}})
		if (err == nil) != (made != "") {
			t.Errorf("%s: %v", name, err)
		}
		if target, _ := os.Readlink(filepath.Join(dir, made)); made != "" && target != "/target" {
			t.Errorf("%s is not made", made)
		}
	}
	if err := makeLinks(&spec.Spec{Home: home, Links: []policy.Link{{Path: filepath.Join(home, "tool"), Target: "/target"}}}); err != nil {
		t.Errorf("a link that is there already: %v", err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}
