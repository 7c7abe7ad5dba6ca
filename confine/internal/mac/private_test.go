//go:build darwin || linux

package mac

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLinksStayInHome: the copy of a HOME has the links that the server made in its own. The
// supervisor, which nothing confines, makes nothing where they lead.
func TestLinksStayInHome(t *testing.T) {
	dir := t.TempDir()
	home, outside := filepath.Join(dir, "home"), filepath.Join(dir, "outside")
	for _, d := range []string{filepath.Join(home, "own"), outside} {
		testkit.Must(t, os.MkdirAll(d, 0o700))
	}
	for at, target := range map[string]string{"config": outside, "up": "../outside", "inside": "own"} {
		testkit.Must(t, os.Symlink(target, filepath.Join(home, at)))
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
	testkit.Empty(t, "outside", testkit.Get(os.ReadDir(outside))(t))
}

// TestHomeCopied: HOME is a copy of what the server has kept, or empty if there is nothing. Of a copy that
// fails nothing is left, and the user is told.
func TestHomeCopied(t *testing.T) {
	for _, c := range []struct {
		kept   string // the file in it; "": none has been kept
		fails  bool   // at what comes after that file
		copied string
		told   bool
	}{
		{"a/file", false, "a/file", false},
		{"", false, "", false},
		{"a/file", true, "", true},
	} {
		dir := t.TempDir()
		s := &spec.Spec{TempDir: filepath.Join(dir, "temp"), Home: filepath.Join(dir, "temp/home"), HomeCopy: filepath.Join(dir, "kept")}
		if c.kept != "" {
			testkit.Must(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(s.HomeCopy, c.kept)), 0o700), os.WriteFile(filepath.Join(s.HomeCopy, c.kept), nil, 0o600)))
		}
		if c.fails {
			if runtime.GOOS == "darwin" { // which copies this too
				continue
			}
			testkit.Must(t, unix.Mkfifo(filepath.Join(s.HomeCopy, "b"), 0o600))
		}
		note, err := MakePrivate(s)
		if err != nil || (note != "") != c.told {
			t.Errorf("%+v: %q, %v", c, note, err)
		}
		left, _ := filepath.Glob(filepath.Join(s.Home, "*/*"))
		if want := filepath.Join(s.Home, c.copied); c.copied == "" && len(left) != 0 || c.copied != "" && (len(left) != 1 || left[0] != want) {
			t.Errorf("%+v: HOME has %v", c, left)
		}
		if info, err := os.Stat(s.Home); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			t.Errorf("%+v: HOME is %v, %v", c, info, err)
		}
	}
}
