package undo

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOddKinds tests FIFOs, sockets and devices: undo gives a moved one its name back, removes one
// that the server made, and names one that the server removed. A file that took its place is left.
func TestOddKinds(t *testing.T) {
	for kind, mode := range map[string]uint32{"FIFO": unix.S_IFIFO, "socket": unix.S_IFSOCK, "device": unix.S_IFCHR} {
		make := func(w *world, name string) { w.check(unix.Mknod(w.at(name), mode|0o600, int(unix.Mkdev(1, 3)))) }
		for name, c := range map[string]struct {
			server func(w *world)
			named  string // "": all of it is put back
		}{
			"moved":               {func(w *world) { w.check(w.rename("p", "q", 0)); w.chmod("q", 0o644) }, ""},
			"moved with others":   {func(w *world) { w.check(w.rename("d0", "e", 0)) }, ""},
			"swapped with a file": {func(w *world) { w.check(w.rename("p", "d1/f0", unix.RENAME_EXCHANGE)) }, ""},
			"swapped with a link": {func(w *world) { w.check(w.rename("p", "d1/link", unix.RENAME_EXCHANGE)) }, ""},
			"swapped with its own": {func(w *world) {
				w.check(w.rename("d0/p", "t", 0))
				w.check(w.rename("d0", "e", 0))
				w.check(w.rename("t", "d0", 0))
			}, ""},
			"made":     {func(w *world) { w.name("d0/made", false); make(w, "d0/made") }, ""},
			"removed":  {func(w *world) { w.remove("p") }, "p"},
			"replaced": {func(w *world) { w.remove("p"); w.write("p", "server", 0) }, "p"},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				if mode == unix.S_IFCHR && os.Geteuid() != 0 {
					t.Skip("root: only root may make a device")
				}
				w := filled(t)
				make(w, "p")
				make(w, "d0/p")
				before := w.tree()
				w.begin()
				c.server(w)
				after := w.tree()
				w.end()
				if c.named != "" {
					w.mustLeave(c.named, "which undo does not make")
					w.same("left", after)
					return
				}
				w.mustUndo(w.session(), 0)
				w.same("undone", before)
			})
		}
	}
}
