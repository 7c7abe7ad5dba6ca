package policy

import "testing"

// TestSameJail: what a profile has makes another jail. The tool's name does not.
func TestSameJail(t *testing.T) {
	a := Profile{Server: "s", Tool: "a", Entries: []Entry{{Path: "/a"}}}
	b, c := a, a
	b.Tool, b.Entries = "b", []Entry{{Path: "/a"}}
	c.Entries = []Entry{{Path: "/a", Rights: Read}}
	if !a.SameJail(&b) || a.SameJail(&c) {
		t.Error(a.SameJail(&b), a.SameJail(&c))
	}
}
