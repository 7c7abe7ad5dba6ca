package resolve

import (
	"strings"
	"testing"
)

// TestGitIdentity has policies of servers that write a repository, and others.
func TestGitIdentity(t *testing.T) {
	const files = `
		f /home/u/.gitconfig [user]\nname = Me\nemail = me@example.com\n
		d /home/u/proj/sub
		f /home/u/proj/.git/HEAD
		f /home/u/plain/x
		f /home/u/tree/.git gitdir: /home/u/proj/.git/worktrees/tree\n
		f /home/u/proj/.git/worktrees/tree/HEAD
		f /home/u/proj/.git/worktrees/tree/commondir ../..`
	for _, c := range []struct {
		name, toml string
		want       string
	}{
		{"the default policy", aServer, "Me"},
		{"in another workspace", aServer + "workspace = \"/home/u/plain\"\n", ""},
		{"below the repository", aServer + "workspace = \"/home/u/proj/sub\"\n", ""},
		{"a repository in a grant", fsRules("/home/u:rw"), "Me"},
		{"read only", fsRules(".:r"), ""},
		{"one that cannot be written in a grant", fsRules(".:rw", ".git:-w"), ""},
		{"a worktree without its repository", fsRules("/home/u/tree:rw"), ""},
		{"a worktree", fsRules("/home/u/tree:rw", "/home/u/proj/.git:rw"), "Me"},
		{"the user's own file as well", fsRules(".:rw", "~/.gitconfig:r"), "Me"},
		{"the real HOME", aServer + "home = \"real\"\n", ""},
	} {
		p, _ := mustResolve(t, newFake(aSystem, files), c.toml)
		if want := "name = \"" + c.want + "\""; (p.GitConfig != "") != (c.want != "") || c.want != "" && !strings.Contains(p.GitConfig, want) {
			t.Errorf("%s: %q, want %q", c.name, p.GitConfig, c.want)
		}
	}
}
