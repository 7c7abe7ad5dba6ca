package jail

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// RemoveTree removes a directory tree in which the server may have taken the owner's rights away
// from directories, or on macOS given files a flag that keeps them, and which may be deeper than this
// process may have descriptors. An empty name does nothing.
func RemoveTree(dir string) {
	if dir == "" || os.RemoveAll(dir) == nil {
		return
	}
	if above, err := os.OpenRoot(filepath.Dir(dir)); err == nil {
		(&tree{Root: above}).unlock(filepath.Base(dir))
		above.Close()
	}
	if root, err := os.OpenRoot(dir); err == nil {
		t := tree{Root: root}
		for t.clear(".") {
		}
		root.Close()
	}
	os.Remove(dir)
}

// A tree is removed with few descriptors: what lies in a directory moves to the top, until nothing does.
type tree struct {
	*os.Root
	moved int
}

// clear removes some of what is in a directory, which is the top or in it. It moves directories that are not
// empty to the top. It reports whether it did anything.
func (t *tree) clear(dir string) (progress bool) {
	f, err := t.Open(dir)
	if err != nil {
		return false
	}
	entries, _ := f.ReadDir(1024)
	f.Close()
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		t.unlock(name)
		switch {
		case t.Remove(name) == nil:
			progress = true
		case !e.IsDir():
		case dir == ".":
			progress = t.clear(name) || progress
		default:
			t.moved++ // a name that exists makes the next round try the next one
			progress = t.Rename(name, "moved-"+strconv.Itoa(t.moved)) == nil || progress
		}
	}
	return progress
}

// unlock gives the owner the rights that it needs to remove a name and what is in it. On Windows the attribute
// read-only keeps a file, too.
func (t *tree) unlock(name string) {
	private.ClearFlags(t.Root, name)
	info, err := t.Lstat(name)
	if err == nil && (info.IsDir() || info.Mode().IsRegular() && runtime.GOOS == "windows") {
		t.Chmod(name, 0o700)
	}
}
