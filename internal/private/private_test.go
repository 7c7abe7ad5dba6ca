package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

var must = testkit.Must

// hasModes: the permissions of a file are bits. Windows has lists in their place, which are not read.
const hasModes = runtime.GOOS != "windows"

// refused tests that an error is an *OwnerError that names a path and has a text.
func refused(t *testing.T, err error, at, text string) {
	t.Helper()
	var owner *hostfs.OwnerError
	if !errors.As(err, &owner) || owner.At != at || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want a refusal of %s that says %q", err, at, text)
	}
}

// TestDir goes through the door: what is made, written, read, moved and removed.
func TestDir(t *testing.T) {
	base := filepath.Join(t.TempDir(), "config")
	if _, err := Open(base, "a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	d, err := Make(base, "a/b")
	must(t, err)
	defer d.Close()
	for _, dir := range []string{base, base + "/a", base + "/a/b"} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || hasModes && info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	must(t, d.Replace("f", []byte("1"), How{}))
	must(t, d.Replace("f", []byte("two"), How{Mode: 0o644, Sync: true}))
	if info, err := os.Lstat(base + "/a/b/f"); err != nil || hasModes && info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if b, err := ReadFile(base, "a/b/f", 3); err != nil || string(b) != "two" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := d.ReadFile("f", 2); err == nil || !strings.Contains(err.Error(), filepath.Join(base, "a/b/f")+" has 3 bytes, and may have at most 2") {
		t.Errorf("too large: %v", err)
	}
	if err := d.Replace("f", nil, How{Before: func() error { return fs.ErrClosed }}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Before: %v", err)
	}
	names, err := d.Names()
	if err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	top, err := Open(base, ".")
	must(t, err)
	defer top.Close()
	must(t, top.Rename("a/b/f", "a/g"))
	must(t, os.Chmod(base+"/a/b", 0o500))
	must(t, d.Close()) // Windows removes no directory that is open
	must(t, top.RemoveAll("a"))
	if names, err := top.Names(); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestReadOnly tests that what is read-only can be removed: a package, and what a program such as git has
// written into its private HOME.
func TestReadOnly(t *testing.T) {
	base := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "tree", "sub"), 0o700))
	for _, name := range []string{"tree/a", "tree/sub/b"} {
		must(t, os.WriteFile(filepath.Join(base, name), []byte(name), 0o400))
	}
	must(t, os.Chmod(filepath.Join(base, "tree/sub"), 0o500), os.Chmod(filepath.Join(base, "tree"), 0o500))
	if err := os.WriteFile(filepath.Join(base, "tree/a"), nil, 0o600); err == nil && os.Getuid() != 0 {
		t.Fatal("a read-only file can be written")
	}
	d, err := Open(base, ".")
	must(t, err)
	defer d.Close()
	must(t, d.RemoveAll("tree"))
	if names, err := d.Names(); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestNames tests that a name cannot lead out of its directory.
func TestNames(t *testing.T) {
	base := t.TempDir()
	must(t, os.WriteFile(base+"/outside", nil, 0o600))
	d, err := Make(base, "own")
	must(t, err)
	defer d.Close()
	for _, name := range []string{"", ".", "..", "../outside", "/etc/passwd", "a/b"} {
		_, opened := d.OpenFile(name, os.O_RDONLY, 0)
		_, made := d.Make(name)
		for what, err := range map[string]error{
			"Replace":  d.Replace(name, nil, How{}),
			"OpenFile": opened, "Make": made, "Touch": d.Touch(name, time.Now()),
		} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	for _, name := range []string{"", ".", "..", "../outside", "/etc/passwd"} {
		if one, all := d.Remove(name), d.RemoveAll(name); !errors.Is(one, fs.ErrInvalid) || !errors.Is(all, fs.ErrInvalid) {
			t.Errorf("Remove %q: %v, %v", name, one, all)
		}
	}
	if err := d.Rename("../outside", "in"); err == nil {
		t.Error("Rename leads out")
	}
	for _, below := range []string{"..", "../x", "/etc"} {
		if _, err := Make(base, below); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", below, err)
		}
	}
}

// TestLinks tests that no link below the base is followed, read, replaced or written through, and
// that links of the user may lead to the base.
func TestLinks(t *testing.T) {
	top := t.TempDir()
	elsewhere, own := top+"/elsewhere", top+"/own"
	must(t, errors.Join(os.MkdirAll(own+"/kept", 0o700), os.Mkdir(elsewhere, 0o700), os.WriteFile(elsewhere+"/file", []byte("victim"), 0o600)))
	must(t, errors.Join(os.Symlink(elsewhere, own+"/dir"), os.Symlink(elsewhere+"/file", own+"/kept/file"), os.Symlink(elsewhere+"/none", own+"/kept/none")))
	_, err := Open(own, "dir")
	refused(t, err, own+"/dir", "symbolic link (to "+elsewhere+")")
	_, err = Make(own, "dir/deeper")
	refused(t, err, own+"/dir", "none is followed")
	_, err = ReadFile(own, "kept/file", 100)
	refused(t, err, own+"/kept/file", "remove it")
	d, err := Open(own, "kept")
	must(t, err)
	defer d.Close()
	for _, name := range []string{"file", "none"} {
		at := own + "/kept/" + name
		refused(t, d.Replace(name, []byte("new"), How{}), at, "symbolic link")
		refused(t, d.Touch(name, time.Now()), at, "symbolic link")
		_, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
		refused(t, err, at, "symbolic link")
		_, err = d.Make(name)
		refused(t, err, at, "symbolic link")
	}
	parent, err := Open(own, ".")
	must(t, err)
	defer parent.Close()
	refused(t, parent.Rename("dir/file", "file"), own+"/dir", "symbolic link")
	refused(t, parent.Rename("kept", "dir/kept"), own+"/dir", "symbolic link")
	must(t, parent.RemoveAll("dir")) // the link, and not what it leads to
	if b, err := os.ReadFile(elsewhere + "/file"); err != nil || string(b) != "victim" {
		t.Errorf("%q, %v", b, err)
	}
	must(t, os.Symlink(own, top+"/base"))
	if d, err := Open(top+"/base", "kept"); err != nil || d.path != own+"/kept" {
		t.Errorf("a link of the user to the base: %v", err)
	}
}

// TestHardLinks tests that a file with another name is never written in place, and that Replace
// leaves the other name as it is.
func TestHardLinks(t *testing.T) {
	top := t.TempDir()
	d, err := Make(top, "own")
	must(t, err)
	defer d.Close()
	must(t, os.WriteFile(top+"/victim", []byte("mine"), 0o600))
	if err := os.Link(top+"/victim", d.at("f")); err != nil {
		t.Skip(err)
	}
	if runtime.GOOS != "windows" { // where the number of names is not read
		_, err = d.OpenFile("f", os.O_WRONLY|os.O_CREATE, 0o600)
		refused(t, err, d.at("f"), "another name")
	}
	must(t, d.Replace("f", []byte("new"), How{}))
	if b, err := os.ReadFile(top + "/victim"); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	f, err := d.OpenFile("f", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	f.Close()
}

// TestFollow tests that the user's link to a file is followed, and its directory made if there is
// none.
func TestFollow(t *testing.T) {
	top := t.TempDir()
	must(t, errors.Join(os.Mkdir(top+"/dotfiles", 0o700), os.Mkdir(top+"/config", 0o700), os.Symlink("../dotfiles/lock", top+"/config/lock")))
	if _, err := ReadFollowed(top+"/config/lock", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	for _, file := range []string{top + "/config/lock", top + "/none/lock"} {
		d, name, err := MakeFollow(file)
		must(t, err)
		defer d.Close()
		must(t, errors.Join(d.Writable(), d.Replace(name, []byte("x"), How{})))
		if b, err := ReadFollowed(file, 9); err != nil || string(b) != "x" {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	if entries, err := os.ReadDir(top + "/dotfiles"); err != nil || len(entries) != 1 || entries[0].Name() != "lock" {
		t.Errorf("%v, %v", entries, err)
	}
	if info, err := os.Lstat(top + "/config/lock"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
}

// TestReplaced tests that work goes on in the directory that was checked when another one takes its
// place.
func TestReplaced(t *testing.T) {
	top := t.TempDir()
	d, err := Make(top, "state")
	must(t, err)
	defer d.Close()
	must(t, errors.Join(os.Rename(top+"/state", top+"/moved"), os.Mkdir(top+"/state", 0o700)))
	must(t, d.Replace("f", []byte("x"), How{}))
	if _, err := os.Lstat(top + "/state/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is in the other directory: %v", err)
	}
	if _, err := os.Lstat(top + "/moved/f"); err != nil {
		t.Error(err)
	}
	host := hostfs.OwnerHost()
	way, err := hostfs.NewLinkResolver(host).PrivateWay(top, "moved")
	must(t, err)
	must(t, errors.Join(os.Rename(top+"/moved", top+"/away"), os.Mkdir(top+"/moved", 0o700)))
	if _, err := openWay(host, way, way.At, ""); err == nil || !strings.Contains(err.Error(), "was replaced while it was opened") {
		t.Errorf("another directory than was checked: %v", err)
	}
}

// TestUnfinished tests that a killed Replace leaves nothing for long, and that a running one keeps
// its file.
func TestUnfinished(t *testing.T) {
	d, err := Make(t.TempDir(), "d")
	must(t, err)
	defer d.Close()
	old, now := time.Now().Add(-time.Hour), time.Now()
	killed, running := unfinished+unforeseen(), unfinished+unforeseen()
	for name, at := range map[string]time.Time{killed: old, running: now, ".new-other": old, "f" + killed: old} {
		must(t, os.WriteFile(d.at(name), nil, 0o600))
		must(t, os.Chtimes(d.at(name), at, at))
	}
	must(t, d.Replace("f", []byte("x"), How{}))
	entries, err := d.Names()
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{running, ".new-other", "f", "f" + killed}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// TestCreate tests that Create takes the first free name, and that a link takes a name too.
func TestCreate(t *testing.T) {
	top := t.TempDir()
	d, err := Make(top, "d")
	must(t, err)
	defer d.Close()
	must(t, os.Symlink(top+"/victim", d.at("a")))
	for _, want := range []string{"b", "c", ""} {
		got, err := d.Create([]byte(want), How{}, slices.Values([]string{"a", "b", "c"}))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := os.Lstat(top + "/victim"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("written through a link: %v", err)
	}
	if entries, _ := d.Names(); len(entries) != 3 {
		t.Errorf("%v", entries)
	}
}

// TestLetGo: on Windows, a directory is let go before it is moved, with its lock. On other systems it stays open
// and locked until it is closed. It can be moved then on all.
func TestLetGo(t *testing.T) {
	base := t.TempDir()
	d, err := Make(base, ".")
	must(t, err)
	defer d.Close()
	sub, err := d.Make("x")
	must(t, err)
	defer sub.Close()
	unlock, err := sub.Lock(Exclusive)
	if err != nil {
		skipWithoutLocks(t, err)
	}
	defer unlock()
	must(t, sub.Replace("f", nil, How{}))
	called := false
	sub.LetGo(func() {
		called = true
		unlock()
	})
	_, closed := sub.Names()
	if onWindows := runtime.GOOS == "windows"; called != onWindows || (closed != nil) != onWindows {
		t.Errorf("unlocked: %v, closed: %v", called, closed)
	}
	must(t, d.Rename("x", "y"))
	if text, err := ReadFile(base, "y/f", 1); err != nil || len(text) != 0 {
		t.Errorf("after it was moved: %q, %v", text, err)
	}
}

// TestLock tests the two kinds of locks of a directory.
func TestLock(t *testing.T) {
	base := t.TempDir()
	lock := func(kind Kind) (func(), error) {
		d, err := Make(base, "d")
		must(t, err)
		defer d.Close()
		return d.Lock(kind)
	}
	unlock, err := lock(Shared)
	if err != nil {
		skipWithoutLocks(t, err)
	}
	second, err := lock(Shared)
	must(t, err)
	if _, err := lock(Exclusive); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is shared: %v", err)
	}
	unlock()
	second()
	unlock, err = lock(Exclusive)
	must(t, err)
	if _, err := lock(Shared); !errors.Is(err, ErrLocked) {
		t.Errorf("while another has it: %v", err)
	}
	unlock()
}

// skipWithoutLocks skips a test on a system where directories have no locks. Any other error fails it.
func skipWithoutLocks(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	t.Skip(err)
}
