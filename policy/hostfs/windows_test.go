package hostfs

import (
	"io/fs"
	"slices"
	"testing"
)

// TestUpwardEnds tests that a search in the directories above a path ends for a path without slashes,
// as Windows writes it, and for a relative one.
func TestUpwardEnds(t *testing.T) {
	for p, want := range map[string][]string{
		"/a/b": {"/a/b", "/a"}, "/": nil, "": nil, ".": nil, "a/b": {"a/b", "a"},
		`C:\Users\u`: {`C:\Users\u`}, "C:/Users": {"C:/Users", "C:"}, `\\host\share`: {`\\host\share`},
	} {
		if got := slices.Collect(Upward(p)); !slices.Equal(got, want) {
			t.Errorf("above %q: %q, want %q", p, got, want)
		}
	}
	f := NewLinkResolver(&Host{OS: "windows", Lstat: func(string) (FileInfo, error) { return FileInfo{}, fs.ErrNotExist }})
	for _, p := range []string{`C:\Users\u`, "C:/Users/u", "C:", "a"} {
		if s := f.Lstat(p); s.Err != fs.ErrNotExist {
			t.Errorf("%s: %v", p, s.Err)
		}
		f.Saw(p)
		if at := f.Canonical(p); at == "" {
			t.Errorf("%s has no canonical form", p)
		}
	}
}
