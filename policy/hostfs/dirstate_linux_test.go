package hostfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestDirState tests that each change of a name changes the state of its directory, that nothing else does, and that
// the state of a directory that has just changed is not certain.
func TestDirState(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		testkit.Must(t, err)
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

// TestDirStateCertain tests that a directory that counts has the same state as when it does not matter, and that
// the filesystem decides: what is on the path, and nothing else, is asked.
func TestDirStateCertain(t *testing.T) {
	for _, dir := range []string{"/usr", "/proc", "/usr/none"} {
		want, is := dirState(dir, false)
		var st unix.Statx_t
		var fs unix.Statfs_t
		counts := is && unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BASIC_STATS, &st) == nil && unix.Statfs(dir, &fs) == nil && isCertain(&st, int64(fs.Type), time.Now())
		if got, ok := dirState(dir, true); ok != counts || ok && got != want {
			t.Errorf("%s: %t, %+v, want %t, %+v", dir, ok, got, counts, want)
		}
	}
}

// TestCertainState tests of which directories the state counts.
func TestCertainState(t *testing.T) {
	now := time.Unix(1e9, 999_000_000) // of a whole second, an ext3 has 1e9
	for _, c := range []struct {
		what       string
		changed    unix.StatxTimestamp
		attributes uint64
		filesystem int64
		is         bool
	}{
		{"a usual one", unix.StatxTimestamp{Sec: 1e9 - 60}, 0, unix.EXT4_SUPER_MAGIC, true},
		{"one of the second before, whose time may be cut off", unix.StatxTimestamp{Sec: 1e9 - 1}, 0, unix.EXT4_SUPER_MAGIC, false},
		{"of the future", unix.StatxTimestamp{Sec: 1e9 + 60}, 0, unix.EXT4_SUPER_MAGIC, false},
		{"encrypted: its names come with a key", unix.StatxTimestamp{Sec: 1e9 - 60}, unix.STATX_ATTR_ENCRYPTED, unix.EXT4_SUPER_MAGIC, false},
		{"of an overlay", unix.StatxTimestamp{Sec: 1e9 - 60}, 0, unix.OVERLAYFS_SUPER_MAGIC, false},
		{"of another machine", unix.StatxTimestamp{Sec: 1e9 - 60}, 0, unix.NFS_SUPER_MAGIC, false},
	} {
		if is := isCertain(&unix.Statx_t{Ctime: c.changed, Attributes: c.attributes}, c.filesystem, now); is != c.is {
			t.Errorf("%s: %t, want %t", c.what, is, c.is)
		}
	}
}

// eventuallyLater returns when a change of a directory gets a later time than its last one.
func eventuallyLater(t *testing.T, dir string) {
	t.Helper()
	before, _ := dirState(dir, false)
	probe := filepath.Join(t.TempDir(), "probe")
	for {
		testkit.Must(t, os.Mkdir(probe, 0o700))
		s, ok := dirState(probe, false)
		if !ok {
			t.Fatal("no state of a directory")
		}
		testkit.Must(t, os.Remove(probe))
		if s.Changed > before.Changed {
			return
		}
	}
}
