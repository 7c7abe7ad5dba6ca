package policy

import (
	"fmt"
	"testing"
)

func TestRootsIn(t *testing.T) {
	p := &Profile{Entries: []Entry{
		{Path: "/a", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/a/in", Kind: KindDir, Rights: Read | Update, Origin: OriginRule},
		{Path: "/a/off", Kind: KindDir, Origin: OriginRule},
		{Path: "/a/off/on", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/ab", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/b", Kind: KindFile, Rights: Read, Origin: OriginRule},
		{Path: "/home", Kind: KindDir, Rights: Read, Origin: OriginHome},
		{Path: "/usr", Kind: KindDir, Rights: Read | Execute, Origin: OriginBaseline},
		{Path: "/w", Kind: KindDir, Rights: Write, Origin: OriginRule},
	}}
	for dir, want := range map[string]string{"/": "[/a /a/off/on /ab]", "/a": "[/a /a/off/on]", "/a/off": "[/a/off/on]", "/w": "[]"} {
		if got := fmt.Sprint(p.RootsIn(dir)); got != want {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
}
