package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const childVar = "MCPJAIL_TEST_LOCKFILE"

func TestMain(m *testing.M) {
	if arg := os.Getenv(childVar); arg != "" { // a process of TestUpdateTogether
		name, who, _ := strings.Cut(arg, "|")
		for i := range 10 {
			if err := addEntry(name, fmt.Sprintf("%s-%d", who, i)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func addEntry(name, spec string) error {
	return Update(name, func(f *File) error {
		return f.Set(&Entry{Key: Key{NPM, spec}, Name: spec, Version: "1", Pinned: someDay})
	})
}

var must = testkit.Must

// lockFiles are the files that keep a lock of a directory: one on Windows, where a directory has none.
var lockFiles = map[bool]int{true: 1}[runtime.GOOS == "windows"]

// TestUpdate creates, changes and leaves alone.
func TestUpdate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mcp-jail")
	name := filepath.Join(dir, FileName)
	must(t, CanUpdate(name))
	must(t, Update(name, func(f *File) error { return nil }))
	testkit.MustEqual(t, "no file", len(testkit.Get(Load(name))(t).Entries()), 0)
	testkit.Fails(t, "an empty file was written", testkit.ErrorOf(os.Stat(name)), "")
	want := aPython()
	must(t, Update(name, func(f *File) error { return f.Set(want) }))
	f, err := Load(name)
	must(t, err)
	testkit.Equal(t, "", f.Find(want.Key), want)
	first, err := os.Stat(name)
	must(t, err)
	if runtime.GOOS != "windows" && first.Mode() != 0o644 {
		t.Errorf("mode %v", first.Mode())
	}
	must(t, Update(name, func(f *File) error { return nil }))
	err = Update(name, func(f *File) error {
		return f.Set(&Entry{Key: Key{NPM, "big"}, Name: "big", Version: "1", Pinned: someDay, Note: strings.Repeat("x", maxSize)})
	})
	testkit.Fails(t, "too large", err, "mcp-jail status --remove")
	sorry := errors.New("sorry")
	testkit.Equal(t, "", Update(name, func(f *File) error { f.Remove(want.Key); return sorry }), sorry)
	if again, err := os.Stat(name); err != nil || !os.SameFile(first, again) {
		t.Error("the file was written though nothing changed")
	}
	testkit.Fails(t, "below a file", CanUpdate(filepath.Join(name, FileName)), "cannot be written")
	must(t, Update(name, func(f *File) error { f.Remove(want.Key); return nil }))
	testkit.Empty(t, "", testkit.Get(Load(name))(t).Entries())
	testkit.Equal(t, "left behind", len(testkit.Get(os.ReadDir(dir))(t)), 1+lockFiles)
	for _, other := range []string{"version = 2\n[npm.\"a\"]\n", `{"version":9}`} {
		must(t, os.WriteFile(name, []byte(other), 0o644))
		for what, err := range map[string]error{"Update": addEntry(name, "a"), "CanUpdate": CanUpdate(name)} {
			testkit.Fails(t, fmt.Sprintf("%s: %s", other, what), err, name+" is no lock file of this version")
		}
	}
}

// TestUpdateTogether: several processes, and several goroutines of one, lose nothing.
func TestUpdateTogether(t *testing.T) {
	name := filepath.Join(t.TempDir(), FileName)
	var wg sync.WaitGroup
	for p := range 3 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|p%d", childVar, name, p))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		wg.Go(func() {
			for i := range 10 {
				testkit.Works(t, "", addEntry(name, fmt.Sprintf("g%d-%d", p, i)))
			}
		})
	}
	wg.Wait()
	f, err := Load(name)
	must(t, err)
	testkit.Equal(t, "of 60 entries", len(f.Entries()), 60)
}

// TestUpdateWithoutLock: a program that does not take the lock loses nothing either.
func TestUpdateWithoutLock(t *testing.T) {
	name, calls := filepath.Join(t.TempDir(), FileName), 0
	must(t, Update(name, func(f *File) error {
		if calls++; calls == 1 {
			must(t, os.WriteFile(name, encode(t, anEntry(t, "b")), 0o644))
		}
		return f.Set(anEntry(t, "a"))
	}))
	if f, err := Load(name); err != nil || len(f.Entries()) != 2 || calls != 2 {
		t.Errorf("%v, %v, %d calls", f, err, calls)
	}
	calls = 0
	err := Update(name, func(f *File) error {
		calls++
		must(t, os.WriteFile(name, encode(t, anEntry(t, fmt.Sprint(calls))), 0o644))
		return f.Set(anEntry(t, "c"))
	})
	testkit.Fails(t, fmt.Sprintf("after %d calls", calls), err, "changes it all the time")
}

// TestLoadRefuses: files of others, and what is not a file.
func TestLoadRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners and modes are not checked")
	}
	dir := t.TempDir()
	name, text := filepath.Join(dir, FileName), encode(t, anEntry(t, "a"))
	try := func(what, want string) {
		t.Helper()
		_, loaded := Load(name)
		if updated := addEntry(name, "b"); loaded == nil || !strings.Contains(loaded.Error(), want) || updated == nil || !strings.Contains(updated.Error(), want) {
			t.Errorf("%s: %v; %v; want %s", what, loaded, updated, want)
		}
	}
	must(t, os.WriteFile(name, text, 0o644))
	must(t, os.Chmod(name, 0o666))
	var owner *hostfs.OwnerError
	if _, err := Load(name); !errors.As(err, &owner) {
		t.Errorf("%v", err)
	}
	try("all may write", "may be written by other users")
	must(t, os.Chmod(name, 0o644))
	if os.Getuid() == 0 {
		must(t, os.Chown(name, 12345, 12345))
		try("another owner", "belongs to user 12345")
		must(t, os.Chown(name, 0, 0))
	}
	must(t, os.Truncate(name, maxSize+1))
	try("too large", "at most 33554432")
	must(t, os.Remove(name))
	must(t, os.Mkdir(name, 0o700))
	try("a directory", "not a regular file")
	must(t, os.Remove(name))
	must(t, os.Symlink("absent/lock", name))
	testkit.Fails(t, "", addEntry(name, "b"), "symbolic link (to absent/lock)")
}
