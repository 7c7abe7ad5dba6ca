package undo

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
	"golang.org/x/sys/unix"
)

// setFlags sets attributes of a file, as chattr(1) does.
func (w *world) setFlags(name string, flags int) {
	w.t.Helper()
	f, err := os.Open(w.at(name))
	w.check(err)
	defer f.Close()
	w.check(unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags))
}

// newWorldToFix returns a filled world on a filesystem that has these attributes.
func newWorldToFix(t *testing.T) *world {
	if os.Geteuid() != 0 {
		t.Skip("root: only root may set these attributes")
	}
	w := newWorld(t)
	w.check(unix.Mount("tmpfs", w.root, "tmpfs", 0, "size=4m"))
	t.Cleanup(func() { unix.Unmount(w.root, unix.MNT_DETACH) })
	w.fill()
	return w
}

func (w *world) mustHaveNoTemps() {
	w.t.Helper()
	w.check(filepath.WalkDir(w.root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), steps.TempPrefix) {
			w.t.Errorf("%s is left", path)
		}
		return err
	}))
}

// TestFixedDirectories tests that undo names what is in an immutable or append-only directory, and
// changes nothing there, and that it puts all of it back when the attribute is away.
func TestFixedDirectories(t *testing.T) {
	const immutable, appendOnly = unix.STATX_ATTR_IMMUTABLE, unix.STATX_ATTR_APPEND // as FS_IMMUTABLE_FL and FS_APPEND_FL
	for name, c := range map[string]struct {
		server       func(w *world)
		fixed, named string
	}{
		"in a directory":         {func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) }, "d0", "d0/f0"},
		"made in a directory":    {func(w *world) { w.write("d0/new", "server", 0) }, "d0", "d0/new"},
		"removed":                {func(w *world) { w.remove("d0/f0") }, "d0", "d0/f0"},
		"moved to a directory":   {func(w *world) { w.check(w.rename("d0/f0", "d1/new", 0)) }, "d1", "d0/f0"},
		"moved from one":         {func(w *world) { w.check(w.rename("d0/f0", "d1/new", 0)) }, "d0", "d0/f0"},
		"a directory removed":    {func(w *world) { w.remove("d0/sub/deep"); w.remove("d0/sub/hard"); w.rmdir("d0/sub") }, "d0", "d0/sub"},
		"a directory's own":      {func(w *world) { w.chmod("d0", 0o700) }, "d0", "d0"},
		"a file and a directory": {func(w *world) { w.check(w.rename("d0/f0", "d1/sub", unix.RENAME_EXCHANGE)) }, "d1", "d1/sub"},
	} {
		for flag, what := range map[int]string{immutable: "immutable", appendOnly: "append-only"} {
			t.Run(name+", "+what, func(t *testing.T) {
				w := newWorldToFix(t)
				before := w.tree()
				w.begin()
				c.server(w)
				w.end()
				w.setFlags(c.fixed, flag)
				w.mustLeave(c.named, what)
				w.mustHaveNoTemps()
				w.setFlags(c.fixed, 0)
				w.mustUndo(w.session(), 0)
				w.same("without the attribute", before)
			})
		}
	}
}

// TestAppendOnlyFile tests that undo names a file of the user's to which a server may only append. The
// time of its inode changes with the attribute, so its user takes it away before the last undo.
func TestAppendOnlyFile(t *testing.T) {
	w := newWorldToFix(t)
	before := w.tree()
	w.setFlags("d0/f0", unix.STATX_ATTR_APPEND)
	w.begin()
	w.write("d0/f0", "server", os.O_APPEND)
	w.end()
	w.mustLeave("d0/f0", "append-only")
	w.mustHaveNoTemps()
	w.setFlags("d0/f0", 0)
	w.mustLeave("d0/f0", "may have been changed")
	w.check(os.Remove(w.at("d0/f0")))
	w.mustUndo(w.session(), 0)
	w.same("taken away", before)
}
