package policytest

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestAllowsRename(t *testing.T) {
	p := &policy.Profile{
		Entries: []policy.Entry{
			{Path: "/all", Rights: policy.AllRights},
			{Path: "/all/ro", Rights: policy.Read},
			{Path: "/create", Rights: policy.Read | policy.Create},
			{Path: "/rw", Rights: policy.Read | policy.Write},
			{Path: "/rw/file", Kind: policy.KindFile, Rights: policy.Read | policy.Update},
		},
		Unprotected: []string{"/rw/.git/hooks"},
	}
	for _, tt := range []struct {
		src, dst string
		want     bool
		why      string
	}{
		{"/rw/a", "/rw/b", true, ""},
		{"/all/a", "/rw/b", true, "fewer rights there"},
		{"/rw/a", "/all/b", false, "would gain execute"},
		{"/create/a", "/create/b", false, "no delete where it is"},
		{"/rw/a", "/all/ro/b", false, "no create where it goes"},
		{"/all/ro/a", "/rw/b", false, "no delete where it is"},
		{"/rw/file", "/rw/b", false, "an entry is pinned"},
		{"/rw/a", "/rw/file", false, "an entry is pinned"},
		{"/all/ro", "/all/b", false, "an entry is pinned"},
		{"/rw/a", "/rw/a/b", false, "into itself"},
		{"/rw/a", "/rw/.git/hooks", false, "may not come into being"},
		{"/rw/a", "/rw/.git", false, "could bring hooks along"},
		{"/rw/.git", "/rw/b", false, "the hooks would be allowed elsewhere"},
		{"/rw/.gitx", "/rw/b", true, "only a similar name"},
	} {
		if got := AllowsRename(p, tt.src, tt.dst); got != tt.want {
			t.Errorf("%s -> %s: %v %s", tt.src, tt.dst, got, tt.why)
		}
	}
	if !AllowsReplace(p, "/rw/a", "/rw/b") || AllowsReplace(p, "/rw/a", "/create/b") {
		t.Error("AllowsReplace")
	}
}
