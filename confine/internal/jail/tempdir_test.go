package jail

import (
	"io/fs"
	"slices"
	"testing"
)

// TestInTree: of a name and its directory, those in the tree are opened up, on each system.
func TestInTree(t *testing.T) {
	for _, c := range []struct {
		system, dir, name string
		want              []string
	}{
		{"linux", "/t/a", "/t/a/b/c", []string{"/t/a/b/c", "/t/a/b"}},
		{"linux", "/t/a", "/t/a", []string{"/t/a"}},
		{"linux", "/t/a", "/t/ab", nil},
		{"linux", "/t/a", `/t/a/b\c`, []string{`/t/a/b\c`, "/t/a"}},
		{"darwin", "/t/a", "/t/a/b", []string{"/t/a/b", "/t/a"}},
		{"windows", `C:\t\a`, `C:\t\a\b\c`, []string{`C:\t\a\b\c`, `C:\t\a\b`}},
		{"windows", `C:\t\a`, `c:\T\a/b`, []string{`c:\T\a/b`, `c:\T\a`}},
		{"windows", `C:\t\a`, `C:\t\a`, []string{`C:\t\a`}},
		{"windows", `C:\t\a`, `C:\t\ab`, nil},
		{"windows", `C:\t\a`, `D:\t\a\b`, nil},
	} {
		if got := inTree(c.system, c.dir, c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s in %s: %q, want %q", c.system, c.name, c.dir, got, c.want)
		}
	}
}

// TestIsKept: directories without rights are kept, and on Windows read-only files. A link never is.
func TestIsKept(t *testing.T) {
	for _, c := range []struct {
		mode           fs.FileMode
		linux, windows bool
	}{
		{fs.ModeDir | 0o500, true, true},
		{fs.ModeDir | 0o777, false, false},
		{fs.ModeDir | 0o300, true, false}, // no directory of Windows has this mode
		{0o444, false, true},
		{0o666, false, false},
		{fs.ModeSymlink | 0o444, false, false},
		{fs.ModeIrregular | 0o444, false, false},
	} {
		if isKept("linux", c.mode) != c.linux || isKept("windows", c.mode) != c.windows {
			t.Errorf("%v: want %t on Linux, and %t on Windows", c.mode, c.linux, c.windows)
		}
	}
}
