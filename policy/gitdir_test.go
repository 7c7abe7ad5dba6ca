package policy

import (
	"math/rand"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// grantOf returns a profile whose rules let the server write to paths.
func grantOf(paths ...string) *Profile {
	p := &Profile{GitDirs: []string{"/w/bare"}}
	slices.Sort(paths)
	for _, at := range slices.Compact(paths) {
		p.Entries = append(p.Entries, Entry{Path: at, Kind: KindDir, Rights: Read | Write, Origin: OriginRule})
	}
	return p
}

// namesProtected reports whether a path is protected, or is in a protected directory.
func namesProtected(file string) bool {
	names := strings.Split(strings.ToLower(file), "/")
	for i, name := range names {
		parts, protected := ProtectedParts(name)
		if name == "bare" {
			parts, protected = GitParts, true
		}
		parts = append(slices.Clip(parts), "gitdir")
		switch rest := names[i+1:]; {
		case !protected:
		case len(parts) == 1:
			return true
		case len(rest) > 0 && slices.Contains(parts, rest[0]):
			return true
		case len(rest) > 0 && (rest[0] == "modules" || rest[0] == "worktrees") && slices.ContainsFunc(rest[1:], func(n string) bool { return slices.Contains(parts, n) }):
			return true
		}
	}
	return false
}

// TestJudgementIsOfThePath tests that a rule below another rule with the same rights changes no
// verdict, unless the rule names a protected path.
func TestJudgementIsOfThePath(t *testing.T) {
	g := rand.New(rand.NewSource(1))
	names := []string{"a", "m", ".git", "modules", "worktrees", "hooks", "config", "commondir", "gitdir", "refs", "heads", ".vscode", ".github", "workflows", ".hg", "hgrc", "node_modules", "bare", ".GIT", "Hooks"}
	below := func(dir string, atMost int) string {
		for range g.Intn(atMost + 1) {
			dir = path.Join(dir, names[g.Intn(len(names))])
		}
		return dir
	}
	same, protected, renames := 0, 0, 0
	for range 4000 {
		outer := below("/w", 2)
		inner := below(outer, 3)
		file := below(path.Join(inner, "x"), 0)
		if g.Intn(4) > 0 {
			file = below(path.Join(inner, names[g.Intn(len(names))]), 4)
		}
		if namesProtected(inner) {
			continue
		}
		wide, both := grantOf(outer), grantOf(outer, inner)
		for op := OpWrite; op <= OpRemove; op++ {
			got, want := both.Protects(op, file), wide.Protects(op, file)
			if got != want {
				t.Fatalf("%s %s by %s and %s: %v, by %s alone: %v", op, file, outer, inner, got, outer, want)
			}
			same++
			if want {
				protected++
			}
		}
		held := []string{"", "@", "**", "hooks"}[g.Intn(4)]
		holds := func(name string) bool { return name == held || held != "@" && name == "" }
		src := path.Join(outer, "y")
		if both.containsEntry(file) || both.containsEntry(src) || wide.containsEntry(file) {
			continue
		}
		if got, want := both.MediateRename(src, file, holds, true), wide.MediateRename(src, file, holds, true); got != want {
			t.Fatalf("a rename to %s by %s and %s: %d, by %s alone: %d", file, outer, inner, got, outer, want)
		}
		renames++
	}
	if protected < same/10 || same-protected < same/10 || renames < 500 {
		t.Errorf("the paths test little: %d of %d are protected, %d renames", protected, same, renames)
	}
}

// TestGrantsInGitDirectories tests what a rule for a git directory, or for a directory in one,
// leaves protected, and what a rule grants that names it.
func TestGrantsInGitDirectories(t *testing.T) {
	for _, row := range testkit.Rows(t, "git_grants.txt", 3) {
		grant, path, want := row[0], row[1], row[2] == "true"
		if got := grantOf(grant).Protects(OpCreate, path); got != want {
			t.Errorf("by %s, %s is protected: %v", grant, path, got)
		}
	}
}

// TestWorkspaceInNodeModules tests that a directory with protected names cannot be moved from an
// inner node_modules into a workspace that itself lies in one.
func TestWorkspaceInNodeModules(t *testing.T) {
	const w = "/x/node_modules/pkg"
	for _, dir := range []string{w, "/w"} {
		p := grantOf(dir)
		for held, want := range map[string]Verdict{"**": Forbidden, "other": Granted} {
			holds := func(name string) bool { return name == "" || name == held }
			if got := p.MediateRename(dir+"/node_modules/a", dir+"/b", holds, true); got != want {
				t.Errorf("in %s, %s: %d", dir, held, got)
			}
		}
		if !p.EntersProtected(dir+"/node_modules/a", dir+"/b") || p.EntersProtected(dir+"/a", dir+"/b") {
			t.Errorf("%s: EntersProtected", dir)
		}
	}
}

// TestProtectsFromLink tests where no symbolic link may be made or moved to.
func TestProtectsFromLink(t *testing.T) {
	p := grantOf("/w")
	p.Entries = append([]Entry{{Path: "/home", Kind: KindDir, Rights: Read | Write, Origin: OriginHome}}, p.Entries...)
	isLink := func(name string) bool { return name == "@" }
	for file, want := range map[string]bool{
		"/w/.git/worktrees": true, "/w/.git/modules/a/b": true, "/w/.GIT/worktrees/v": true, "/w/bare/worktrees": true, "/w/bare/modules/m/x": true,
		"/w/.git/x": false, "/w/worktrees": false, "/w/bare/x/modules": false, "/home/r/.git/worktrees": false, "/elsewhere/.git/worktrees": false,
	} {
		if p.ProtectsFromLink(file) != want || (p.MediateRename("/w/l", file, isLink, true) != Granted) != want {
			t.Errorf("%s: want %v", file, want)
		}
		if strings.HasSuffix(file, "/b") && p.MediateRename("/w/l", file, func(string) bool { return false }, true) != Granted {
			t.Errorf("control: a file to %s", file)
		}
	}
}
