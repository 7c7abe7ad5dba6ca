package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestGitSettings has policies of servers that write a repository, and others.
func TestGitSettings(t *testing.T) {
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

// TestGitFiles: the files that the user's configuration names can be read, but for those that are hidden.
func TestGitFiles(t *testing.T) {
	const repository = "f /home/u/proj/.git/HEAD\nf /home/u/.config/git/ignore notes\nf /home/u/.config/git/attributes x\nf /home/u/proj/.gitattributes *.bin filter=lfs\n"
	for _, c := range []struct{ name, config, toml, read, text, warning string }{
		{"by git's own names", "[user]\\nname = Me\\n", aServer, "/home/u/.config/git/ignore", `excludesfile = "/home/u/.config/git/ignore"`, ""},
		{"by another name", "[core]\\nexcludesFile = ~/.gitignore_global\\n", aServer, "/home/u/.gitignore_global", `excludesfile = "/home/u/.gitignore_global"`, ""},
		{"a sensitive file", "[core]\\nexcludesFile = ~/.ssh/id_x\\nattributesFile = ~/.gitignore_global\\n", aServer, "/home/u/.gitignore_global", "attributesfile", ""},
		{"a link that the server can replace", "[core]\\nexcludesFile = ~/proj/link\\nattributesFile = ~/.gitignore_global\\n", aServer, "/home/u/.gitignore_global", "attributesfile", ""},
		{"signing", "[commit]\\ngpgsign = true\\n", aServer, "/home/u/.config/git/attributes", "attributesfile", "signs nothing"},
		{"a filter", "[filter \"lfs\"]\\nprocess = git-lfs filter-process\\n", aServer, "/home/u/.config/git/attributes", "required", `does not have the filter "lfs"`},
		{"a filter that no file here has", "[filter \"x\"]\\nprocess = y\\n", aServer, "/home/u/.config/git/attributes", "required", ""},
		{"a server that writes no repository", "[commit]\\ngpgsign = true\\n", fsRules(".:r"), "", "", ""},
	} {
		p, warnings := mustResolve(t, newFake(aSystem, repository+"f /home/u/.gitignore_global x\nf /home/u/.ssh/id_x x\nf /home/u/private x\nl /home/u/proj/link ../private\nf /home/u/.gitconfig "+c.config), c.toml)
		if got := p.RightsAt("/home/u/.ssh/id_x") | p.RightsAt("/home/u/private"); got != 0 || c.read != "" && p.RightsAt(c.read) != policy.Read || c.read == "" && p.RightsAt("/home/u/.config/git/ignore") != 0 {
			t.Errorf("%s: %v, %+v", c.name, got, p.Entries)
		}
		if !strings.Contains(p.GitConfig, c.text) || (p.GitConfig == "") != (c.text == "") || strings.Contains(p.GitConfig, "id_x") {
			t.Errorf("%s: %q", c.name, p.GitConfig)
		}
		var said string
		for _, w := range warnings {
			if w.Code == "git-config" {
				said += w.Message
			}
		}
		if !strings.Contains(said, c.warning) || (said == "") != (c.warning == "") {
			t.Errorf("%s: %q", c.name, said)
		}
	}
}
