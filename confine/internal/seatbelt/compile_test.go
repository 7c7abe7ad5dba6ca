package seatbelt_test

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNoDirectoryMovesIntoGit: git takes a directory below .git/modules for that of a submodule, also
// where the name of one has slashes. A server could fill it elsewhere, and move it there.
func TestNoDirectoryMovesIntoGit(t *testing.T) {
	p := workspace("/w")
	p.GitDirs = []string{"/w/store.git"}
	rules := compiled(t, p)
	for _, git := range []string{"/w/.git", "/w/x/.GIT", "/w/store.git"} {
		for _, name := range []string{
			"/modules/vendor/zlib", "/modules/vendor/a/b", "/modules/vendor/objects", "/modules/vendor/logs", "/MODULES/vendor/zlib",
			"/worktrees/tree", "/worktrees/tree/modules/vendor/zlib", "/modules/vendor/modules/zlib",
		} {
			if seatbelttest.Allowed(rules, "file-write-create", git+name, "DIRECTORY") {
				t.Errorf("a directory can be moved to %s", git+name)
			}
		}
	}
	for _, name := range []string{"objects/ab", "refs/heads/feature", "logs/refs/heads/feature", "objects/tmp_objdir-incoming-x/pack"} {
		if !seatbelttest.Allowed(rules, "file-write-create", "/w/.git/modules/zlib/"+name, "DIRECTORY") {
			t.Errorf("git cannot make %s in a submodule", name)
		}
	}
}

// TestNoLinkReplacesAFile holds what a random profile found: a file in the git directory of a
// submodule, named by a rule, must not become a link.
func TestNoLinkReplacesAFile(t *testing.T) {
	const file = "/w/.git/modules/a/b/key"
	p := &policy.Profile{Entries: []policy.Entry{
		{Path: "/w", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule},
		{Path: file, Kind: policy.KindFile, Rights: policy.FileRights, Origin: policy.OriginRule},
	}}
	rules := compiled(t, p)
	if seatbelttest.Allowed(rules, "file-write-create", file, "SYMLINK") || !seatbelttest.Allowed(rules, "file-write-data", file, "") {
		t.Error("the file can become a link, or cannot be written")
	}
}
