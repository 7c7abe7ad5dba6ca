package places

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestFind: the search ends for every path, and finds what Profile.Find finds. A path of Windows has no slash.
func TestFind(t *testing.T) {
	for _, p := range []*policy.Profile{
		{},
		{Entries: []policy.Entry{{Path: "/"}, {Path: "/C:/a"}, {Path: "/b"}}},
		{Entries: []policy.Entry{{Path: "/b"}, {Path: `C:\a`}}},
	} {
		set := EntrySet{}
		for _, e := range p.Entries {
			set[e.Path] = e
		}
		for _, path := range []string{"/", "/b", "/b/c/d", "/C:/a/b", "/C:/b", `C:\a`, `C:\a\b`, `C:\`, "b", "b/c", ".", ""} {
			got, ok := set.Find(path)
			want, found := p.Find(path)
			if ok != found || got.Path != want.Path {
				t.Errorf("%q in %v: %q, %t, want %q, %t", path, p.Entries, got.Path, ok, want.Path, found)
			}
		}
	}
}
