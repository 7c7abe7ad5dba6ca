package session

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestRootsIn(t *testing.T) {
	p := &policy.Profile{Entries: []policy.Entry{
		{Path: "/a", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/a/in", Kind: policy.KindDir, Rights: policy.Read | policy.Update, Origin: policy.OriginRule},
		{Path: "/a/off", Kind: policy.KindDir, Origin: policy.OriginRule},
		{Path: "/a/off/on", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/ab", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/b", Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/home", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginHome},
		{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline},
		{Path: "/w", Kind: policy.KindDir, Rights: policy.Write, Origin: policy.OriginRule},
	}}
	for dir, want := range map[string]string{"/": "[/a /a/off/on /ab]", "/a": "[/a /a/off/on]", "/a/off": "[/a/off/on]", "/w": "[]"} {
		if got := fmt.Sprint(rootsIn(p, dir)); got != want {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
}
