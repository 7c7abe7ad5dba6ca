package policy

import "testing"

// TestFindEnds tests that Find ends for a path of any system, and finds what has slashes.
func TestFindEnds(t *testing.T) {
	p := &Profile{Entries: []Entry{{Path: "/a", Rights: Read}, {Path: "C:/Users/u", Rights: Read}}}
	for name, want := range map[string]string{
		"/a": "/a", "/a/b/c": "/a", "/ab": "", "/": "", "": "", ".": "", "a/b": "", "..": "", "../a": "",
		`C:\Users\u`: "", "C:": "", `\\host\share`: "", "//host/share": "", "C:/Users/u/x": "C:/Users/u", "C:/Users": "",
	} {
		if e, ok := p.Find(name); e.Path != want || ok != (want != "") {
			t.Errorf("the entry of %q is %q (%v), want %q", name, e.Path, ok, want)
		}
		_ = p.Allows(OpCreate, name) // it ends, too
	}
}
