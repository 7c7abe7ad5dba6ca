package integration

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// gitTree is a working tree for gitAttempts.
var gitTree = []string{"repo/.git/HEAD", "repo/.git/modules/m/HEAD", "repo/.git/modules/group/x/HEAD", "repo/l -> ..", "repo/d/", "evil/config", "n/node_modules/w/node_modules/p/.vscode/", "n/node_modules/w/x"}

// gitAttempts are attempts on the git directories of submodules and worktrees, with their outcomes.
// Each is made through a grant of dir and through one of .git.
func gitAttempts(dir string) (attempts []attacker.Attempt, want []attacker.Outcome) {
	git := dir + "/repo/.git"
	for _, c := range []struct {
		want attacker.Outcome
		args []string
	}{
		{"EACCES", []string{"mkdir", git + "/modules/new"}}, {"EACCES", []string{"create", git + "/modules/m/config"}}, {"EACCES", []string{"mkdir", git + "/modules/m/hooks"}},
		{"EACCES", []string{"symlink", git + "/worktrees"}}, {"EACCES", []string{"symlink", git + "/modules/group/y"}}, {"EACCES", []string{"rename", git + "/l", git + "/modules/group/y"}},
		{"EACCES", []string{"link", git + "/l", git + "/modules/group/y"}},
		{"ok", []string{"mkdir", git + "/worktrees"}}, {"EACCES", []string{"create", git + "/worktrees/commondir/commondir"}},
		{"EACCES", []string{"rename", git + "/d", git + "/worktrees/v"}},
		{"ok", []string{"create", git + "/modules/m/index"}}, {"ok", []string{"rename", git + "/modules/m/index", git + "/modules/m/new"}}, {"ok", []string{"symlink", git + "/link"}},
	} {
		attempts, want = append(attempts, c.args), append(want, c.want)
	}
	want[8] = "ENOENT" // before anything is decided
	return attempts, want
}

// testGit makes gitAttempts in jails, and moves a directory with protected names in a workspace in a
// node_modules.
func testGit(t *testing.T, in func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome) {
	t.Helper()
	tree := append(slices.Clone(gitTree), "repo/.git/l -> ..", "repo/.git/d/x")
	for _, grant := range []string{"", "/repo/.git"} {
		dir := testkit.Plant(t, tree...)
		attempts, want := gitAttempts(dir)
		if got := in(t, jailtest.Profile(t, jailtest.Grant{Path: dir + grant, Rights: rw}), attempts...); !slices.Equal(got, want) {
			t.Errorf("by a grant of %q:\ngot  %v\nwant %v", grant, got, want)
		}
	}
	dir := testkit.Plant(t, "bare/HEAD", "bare/worktrees/v/HEAD")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
	p.GitDirs = []string{dir + "/bare"}
	named := in(t, p, attacker.Try("create", dir+"/bare/config"), attacker.Try("create", dir+"/bare/worktrees/v/commondir"), attacker.Try("create", dir+"/bare/index"))
	testkit.Equal(t, "in a git directory of another name:\ngot", named, []attacker.Outcome{"EACCES", "EACCES", "ok"})
	w := testkit.Plant(t, tree...) + "/n/node_modules/w"
	got := in(t, jailtest.Profile(t, jailtest.Grant{Path: w, Rights: rw}), attacker.Try("rename", w+"/node_modules/p", w+"/b"), attacker.Try("rename", w+"/x", w+"/y"))
	testkit.Equal(t, "in a node_modules:\ngot", got, []attacker.Outcome{"EACCES", "ok"})
}

// TestJailGitDirectories: what a rule for the working tree protects in the git directories of
// submodules and worktrees, a rule for .git protects too. No symbolic link leads from there.
func TestJailGitDirectories(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, append(slices.Clone(gitTree), "repo/.git/l -> ..", "repo/.git/d/x")...)
	attempts, _ := gitAttempts(dir)
	for i, got := range jailtest.Unconfined(t, "/", attempts[:5]...) {
		jailtest.Expect(t, "unconfined: "+attempts[i][0], got, attacker.Succeeded)
	}
	testGit(t, jailtest.Attempts)
}

// TestHostNSGitDirectories is TestJailGitDirectories for jails without namespaces.
func TestHostNSGitDirectories(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testGit(t, jailtest.AttemptsHostNS)
}
