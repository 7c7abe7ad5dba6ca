package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// place writes a file with mode 0640 and returns its name.
func place(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mcp.json")
	testkit.Must(t, os.WriteFile(name, []byte(text), 0o640))
	return name
}

func read(t *testing.T, name string) *File {
	t.Helper()
	f := testkit.Get(Read(name))(t)
	return f
}

func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	refused := (*refusedError)(nil)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v (%T), want a refusal with %q", err, err, want)
	}
}

func TestReadRefused(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	testkit.Must(t, os.WriteFile(large, nil, 0o600))
	testkit.Must(t, os.Truncate(large, 50<<20))
	for _, link := range [][2]string{{"b", "a"}, {"a", "b"}, {dir, "to-dir"}} {
		testkit.Must(t, os.Symlink(link[0], filepath.Join(dir, link[1])))
	}
	for name, want := range map[string]string{
		dir:                          "it is a directory",
		filepath.Join(dir, "to-dir"): "it is a directory",
		large:                        "it has 52428800 bytes",
		filepath.Join(dir, "a"):      "lead in a circle",
	} {
		_, err := Read(name)
		wantRefused(t, err, want)
	}
	testkit.Is(t, "", testkit.ErrorOf(Read(filepath.Join(dir, "none"))), fs.ErrNotExist)
}

func TestReplaceKeepsModeAndLink(t *testing.T) {
	name := place(t, "old")
	dir := filepath.Dir(name)
	link := filepath.Join(dir, "sub", "link.json")
	testkit.Must(t, os.Mkdir(filepath.Dir(link), 0o700))
	for _, l := range [][2]string{{"../second", link}, {name, filepath.Join(dir, "second")}} {
		testkit.Must(t, os.Symlink(l[0], l[1]))
	}
	stale := filepath.Join(dir, ".mcp.json.mcp-jail-123")
	testkit.Must(t, os.WriteFile(stale, []byte("half"), 0o600))
	f := read(t, link)
	for _, text := range []string{"new", "", "newer"} { // the file that was written is known
		testkit.Must(t, f.Replace([]byte(text)))
		info, err := os.Lstat(name)
		if b, _ := os.ReadFile(name); err != nil || string(b) != text || string(f.Data) != text || info.Mode() != 0o640 {
			t.Errorf("%q, %v, %v, want %q", b, info.Mode(), err, text)
		}
	}
	testkit.Equal(t, "the link", testkit.Get(os.Readlink(link))(t), "../second")
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("the directory holds %v", entries)
	}
}

func TestReplaceChangedFile(t *testing.T) {
	hour := time.Now().Add(time.Hour)
	for what, change := range map[string]func(name string) error{
		"it has changed":       func(name string) error { return os.WriteFile(name, []byte("other"), 0o640) },
		"it is gone":           os.Remove,
		"replaced or touched":  func(name string) error { return os.Chtimes(name, hour, hour) },
		"it has changed since": func(name string) error { return sameTime(name, "odd") },
		"or touched it": func(name string) error {
			return errors.Join(os.WriteFile(name+"2", []byte("old"), 0o640), keepTime(name, name+"2"), os.Rename(name+"2", name))
		},
		"its name leads to": func(name string) error {
			return errors.Join(os.Rename(name, name+"2"), os.Symlink(name+"2", name))
		},
		"since mcp-jail read it": func(name string) error { return os.Chmod(name, 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			name := place(t, "old")
			f := read(t, name)
			testkit.Must(t, change(name))
			before, _ := os.ReadFile(name)
			err := f.Replace([]byte("new"))
			wantRefused(t, err, what)
			testkit.Is(t, "is not ErrChanged", err, ErrChanged)
			if after, _ := os.ReadFile(name); string(after) != string(before) {
				t.Errorf("the file holds %q", after)
			}
			if entries, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(entries) != 0 {
				t.Errorf("%v stay behind", entries)
			}
		})
	}
}

// TestReplaceChangedMeanwhile: a file that a program changes while the new one is written stays as that program left it.
func TestReplaceChangedMeanwhile(t *testing.T) {
	for what, change := range map[string]func(name string) error{
		"":                                   func(string) error { return nil }, // the control
		"has changed since mcp-jail read it": func(name string) error { return os.WriteFile(name, []byte("other"), 0o640) },
		"its directory has been replaced": func(name string) error {
			dir := filepath.Dir(name)
			return errors.Join(os.Rename(dir, dir+"2"), os.Mkdir(dir, 0o700), os.Link(dir+"2/mcp.json", name), os.Remove(dir+"2/mcp.json"))
		},
	} {
		name := place(t, "old")
		f := read(t, name)
		dir := testkit.Get(f.openDir())(t)
		defer dir.Close()
		temp, _, err := f.write(dir, []byte("new"), 0o640)
		testkit.Must(t, err)
		testkit.Must(t, change(name))
		before := testkit.ReadFile(t, name)
		if err = f.rename(dir, temp); what == "" {
			testkit.Must(t, err)
			testkit.Equal(t, "the file", testkit.ReadFile(t, name), "new")
			continue
		}
		wantRefused(t, err, what)
		testkit.Is(t, "is not ErrChanged", err, ErrChanged)
		testkit.Equal(t, "the file", testkit.ReadFile(t, name), before)
	}
}

// sameTime writes a file in place and gives it its time back.
func sameTime(name, text string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(name, []byte(text), 0o640), os.Chtimes(name, info.ModTime(), info.ModTime()))
}

func keepTime(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func TestReplaceRefused(t *testing.T) {
	name := place(t, "old")
	testkit.Must(t, os.Chmod(name, 0o440))
	wantRefused(t, read(t, name).Replace([]byte("new")), "it is read-only (mode 0440)")

	name = place(t, "old")
	testkit.Must(t, os.Link(name, name+"2"))
	wantRefused(t, read(t, name).Replace([]byte("new")), "it has 2 hard links")
	wantRefused(t, read(t, name).Replace(make([]byte, maxSize+1)), "5242881 bytes")
	if b, _ := os.ReadFile(name); string(b) != "old" {
		t.Errorf("%q", b)
	}
}

// TestReplaceInItsDirectory tests that Replace writes and removes the unfinished file in the directory
// of the file, also if another directory has got that directory's name meanwhile.
func TestReplaceInItsDirectory(t *testing.T) {
	name := place(t, "{}")
	dir := filepath.Dir(name)
	f := read(t, name)
	open := testkit.Get(f.openDir())(t)
	defer open.Close()
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Skip(err) // Windows moves no open directory
	}
	stale := filepath.Join(dir, f.tempPrefix()+"x")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.WriteFile(stale, nil, 0o600), os.WriteFile(name, []byte("{}"), 0o600)} {
		testkit.Must(t, err)
	}
	f.removeStale(open)
	temp, _, err := f.write(open, []byte("new"), 0o600)
	testkit.Must(t, err)
	testkit.Works(t, "", testkit.ErrorOf(os.Lstat(filepath.Join(dir+"-moved", temp))))
	testkit.Works(t, "a file of another directory was removed", testkit.ErrorOf(os.Lstat(stale)))
	testkit.Is(t, "Replace", f.Replace([]byte("new")), ErrChanged)
	testkit.Is(t, "openDir", testkit.ErrorOf(f.openDir()), ErrChanged)
}
