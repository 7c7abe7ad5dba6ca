package hostfs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDirState tests that each change of a name changes the state of its directory, that nothing else does, and that
// the state of a directory that has just changed is not certain.
func TestDirState(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("kept"), nil, 0o600))
	must(os.WriteFile(filepath.Join(outside, "from"), nil, 0o600))
	if _, ok := dirState(dir, true); ok {
		t.Error("the state of a directory that has just changed is certain")
	}
	if _, ok := dirState(at("kept"), false); ok {
		t.Error("a file has the state of a directory")
	}
	must(os.Symlink(dir, at("link")))
	if _, ok := dirState(at("link"), false); ok {
		t.Error("a link has the state of a directory")
	}
	for _, c := range []struct {
		what    string
		do      func() error
		changes bool
	}{
		{"nothing", func() error { return nil }, false},
		{"a file is written", func() error { return os.WriteFile(at("kept"), []byte("text"), 0o600) }, false},
		{"a file is made", func() error { return os.WriteFile(at("new"), nil, 0o600) }, true},
		{"a file is replaced", func() error { return os.Rename(at("new"), at("kept")) }, true},
		{"a file comes", func() error { return os.Rename(filepath.Join(outside, "from"), at("here")) }, true},
		{"a file goes", func() error { return os.Rename(at("here"), filepath.Join(outside, "from")) }, true},
		{"a link is made", func() error { return os.Symlink("kept", at("other")) }, true},
		{"a link is removed", func() error { return os.Remove(at("other")) }, true},
		{"a directory is made", func() error { return os.Mkdir(at("sub"), 0o700) }, true},
		{"a directory is renamed", func() error { return os.Rename(at("sub"), at("Sub")) }, true},
		{"the mode changes", func() error { return os.Chmod(dir, 0o711) }, true},
	} {
		// Two changes within one tick of the kernel's clock can give one time: see settled.
		eventuallyLater(t, dir)
		before, _ := dirState(dir, false)
		must(c.do())
		if now, ok := dirState(dir, false); !ok || (now != before) != c.changes {
			t.Errorf("%s: %+v, and before %+v", c.what, now, before)
		}
	}
}

// eventuallyLater returns when a change of a directory gets a later time than its last one.
func eventuallyLater(t *testing.T, dir string) {
	t.Helper()
	before, _ := dirState(dir, false)
	probe := filepath.Join(t.TempDir(), "probe")
	for {
		if err := os.Mkdir(probe, 0o700); err != nil {
			t.Fatal(err)
		}
		s, ok := dirState(probe, false)
		if !ok {
			t.Fatal("no state of a directory")
		}
		if err := os.Remove(probe); err != nil {
			t.Fatal(err)
		}
		if s.Changed > before.Changed {
			return
		}
	}
}
