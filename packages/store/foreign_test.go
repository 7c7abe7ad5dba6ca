package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestForeign tests that no tree is used, removed or replaced that others could have made, and that
// nothing is written behind a link.
func TestForeign(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners and modes are not checked")
	}
	link := func(at, to string) error { return errors.Join(os.Rename(at, at+".moved"), os.Symlink(to, at)) }
	for name, spoil := range map[string]func(s Store, place, elsewhere string) error{
		"others write the store":   func(s Store, _, _ string) error { return os.Chmod(s.Dir, 0o777) },
		"others write the package": func(_ Store, place, _ string) error { return os.Chmod(filepath.Dir(place), 0o777) },
		"others write the place":   func(_ Store, place, _ string) error { return os.Chmod(place, 0o777) },
		"others write the seal": func(_ Store, place, _ string) error {
			return os.Chmod(filepath.Join(place, sealName), 0o666)
		},
		"the package is a link": func(_ Store, place, elsewhere string) error { return link(filepath.Dir(place), elsewhere) },
		"the place is a link":   func(_ Store, place, elsewhere string) error { return link(place, elsewhere) },
		"the tree is a link":    func(_ Store, place, elsewhere string) error { return link(filepath.Join(place, treeName), elsewhere) },
		"the seal is a link": func(_ Store, place, elsewhere string) error {
			return link(filepath.Join(place, sealName), filepath.Join(elsewhere, "file"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, elsewhere := storeWithTree(t), t.TempDir()
			plant(t, elsewhere, map[string]string{"file": "mine"})
			open(t, s).Close()
			if err := spoil(s, filepath.Join(s.Dir, id().below()), elsewhere); err != nil {
				t.Fatal(err)
			}
			tree, err := s.Open(id())
			var owner *hostfs.OwnerError
			if !errors.As(err, &owner) {
				t.Errorf("%v, %v", tree, err)
			}
			_ = s.Remove(Info{ID: id(), dir: s.Dir, below: id().below()})
			s.Sweep(0)
			if there, err := os.ReadDir(elsewhere); err != nil || len(there) != 1 {
				t.Errorf("behind the link: %v, %v", there, err)
			}
		})
	}
	s, elsewhere := Store{t.TempDir()}, t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(s.Dir, stagingName)); err != nil {
		t.Fatal(err)
	}
	var owner *hostfs.OwnerError
	if stage, err := s.Stage("k"); !errors.As(err, &owner) {
		t.Errorf("a stage behind a link: %v, %v", stage, err)
	}
	if there, err := os.ReadDir(elsewhere); err != nil || len(there) != 0 {
		t.Errorf("behind the link: %v, %v", there, err)
	}
}

func storeWithTree(t *testing.T) Store {
	t.Helper()
	s, _ := installed(t)
	return s
}
