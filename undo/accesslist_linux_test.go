package undo

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAccessListOfUser tests that undo gives a group no right that an access list of the user's denied
// it. A file that has such a list shows the rights of the mask as those of its group.
func TestAccessListOfUser(t *testing.T) {
	for name, c := range map[string]struct {
		server func(w *world)
		list   bool // the object has its list afterwards
	}{
		"removed":                  {func(w *world) { w.remove("d0/f0") }, false},
		"replaced":                 {func(w *world) { w.write("t", "server", 0); w.check(w.rename("t", "d0/f0", 0)) }, false},
		"moved, and then written":  {func(w *world) { w.check(w.rename("d0/f0", "t", 0)); w.write("t", "server", os.O_TRUNC); w.remove("t") }, false},
		"written":                  {func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) }, true},
		"moved":                    {func(w *world) { w.check(w.rename("d0", "e", 0)); w.check(w.rename("e/f0", "t", 0)) }, true},
		"another mode":             {func(w *world) { w.chmod("d0/f0", 0o600) }, true},
		"a directory removed":      {func(w *world) { w.rmdir("only") }, false},
		"moved, and then removed":  {func(w *world) { w.check(w.rename("only", "t", 0)); w.rmdir("t") }, false},
		"below one that was moved": {func(w *world) { w.check(w.rename("around", "t", 0)); w.rmdir("t/only") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			list := accessList(1234)
			for _, path := range []string{"only", "around", "around/only"} {
				w.check(os.Mkdir(w.at(path), 0o755))
			}
			withList := []string{"d0/f0", "only", "around/only"}
			for _, path := range withList {
				w.check(unix.Setxattr(w.at(path), "system.posix_acl_access", list, 0))
			}
			w.begin()
			c.server(w)
			w.end()
			for range 2 { // the second undo finds nothing to do
				w.mustUndo(w.session(), 0)
				for _, path := range withList {
					info, err := os.Stat(w.at(path))
					w.check(err)
					n, _ := unix.Getxattr(w.at(path), "system.posix_acl_access", make([]byte, 100))
					if n <= 0 && info.Mode()&0o070 != 0 {
						t.Errorf("the group has rights to %s: %v", path, info.Mode())
					}
					if lost := n <= 0; lost && c.list || lost && info.Mode().Perm()&^0o700 != 0 {
						t.Errorf("%s has a list of %d bytes, and the mode %v", path, n, info.Mode())
					}
				}
			}
			if r, _, _ := w.undo(w.session(), 0); len(r.Steps) > 0 {
				t.Errorf("a third undo has steps: %+v", r.Steps)
			}
		})
	}
}

// TestAccessListNamed tests that the plan names what loses its access list.
func TestAccessListNamed(t *testing.T) {
	for _, list := range []bool{true, false} {
		w := filled(t)
		if list {
			w.check(unix.Setxattr(w.at("d0/f0"), "system.posix_acl_access", accessList(1234), 0))
		}
		w.begin()
		w.remove("d0/f0")
		w.end()
		r, err := NewRestorer(w.session(), Selection{})
		w.check(err)
		if named := r.Steps[0].Partly != ""; named != list {
			t.Errorf("with a list %v: %+v", list, r.Steps)
		}
	}
}
