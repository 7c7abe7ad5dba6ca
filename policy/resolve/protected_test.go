package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// TestProtectedProgram checks that a server whose own file lies in a protected directory may not
// write there, unless a rule names that directory or a path in it.
func TestProtectedProgram(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/.claude/settings.json
		f /home/u/proj/.claude/hooks/srv.py
		f /home/u/proj/.claude/hooks/guard.sh
		x /home/u/proj/tools/srv
		x /home/u/.local/bin/srv`)
	server := func(command string, rules ...string) string {
		return strings.Replace(fsRules(rules...), `"server"`, command, 1)
	}
	const hook = "\"python3\"\narguments = [\"/home/u/proj/.claude/hooks/srv.py\"]"
	for _, c := range []struct {
		toml, path string
		write      bool
	}{
		{server(hook, "~/proj:rw"), "/home/u/proj/.claude/hooks/guard.sh", false},
		{server(hook, "~/proj:rw"), "/home/u/proj/.claude/hooks/srv.py", false},
		{server(hook, "~/proj:rw"), "/home/u/proj/x", true},
		{server(hook, "~/proj:rw", "~/proj/.claude/hooks:rw"), "/home/u/proj/.claude/hooks/guard.sh", true},
		{server(`"/home/u/proj/tools/srv"`, "~/proj:rw"), "/home/u/proj/tools/srv", true},
		{server(`"/home/u/.local/bin/srv"`, "~:rw"), "/home/u/.local/bin/srv", false},
		{server(`"/home/u/.local/bin/srv"`, "~:rw"), "/home/u/x", true},
	} {
		p, _ := mustResolve(t, h, c.toml)
		if !p.Allows(policy.OpRead, c.path) && !c.write || p.Allows(policy.OpWrite, c.path) != c.write {
			t.Errorf("%s\n%s: %s", c.toml, c.path, p.RightsAt(c.path))
		}
		if strings.HasPrefix(c.path, "/home/u/proj/.claude") && p.Allows(policy.OpCreate, "/home/u/proj/.claude/hooks/new") != c.write {
			t.Errorf("%s\na file beside %s: %s", c.toml, c.path, p.RightsAt("/home/u/proj/.claude/hooks"))
		}
	}
}

func TestProtected(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/proj/.git/config
		f /home/u/proj/.git/hooks/pre-commit
		f /home/u/proj/.git/HEAD
		f /home/u/proj/young/.git/HEAD
		f /home/u/proj/sub/.git/config
		f /home/u/proj/.vscode/tasks.json
		f /home/u/proj/a/b/.envrc
		d /home/u/proj/.github/workflows
		l /home/u/proj/.cursor shared
		f /home/u/proj/shared/mcp.json
		f /home/u/repo/.git/config
		d /home/u/repo/.git/hooks
		f /home/u/repo/.git/worktrees/w/commondir ../..\n
		f /home/u/repo/.git/worktrees/w/gitdir /home/u/w/.git\n
		f /home/u/w/.git gitdir: /home/u/repo/.git/worktrees/w\n
		f /home/u/w/x
		f /home/u/proj/mod/.git gitdir: ../.git/modules/mod\n
		f /home/u/proj/.git/modules/mod/config
		d /home/u/proj/.git/modules/mod/hooks
		f /home/u/proj/.git/config.worktree
		f /home/u/proj/.git/modules/lib/away/HEAD
		f /home/u/proj/.git/modules/lib/away/config
		f /home/u/proj/.git/worktrees/far/commondir ../..\n
		f /home/u/proj/.git/worktrees/far/gitdir /home/u/far/.git
		f /home/u/proj/.git/worktrees/far/config.worktree
		f /home/u/proj/.git/worktrees/far/HEAD
		f /home/u/proj/hg/.hg/hgrc
		f /home/u/proj/hg/.hg/dirstate
		d /home/u/proj/hg2/.hg`)
	p, _ := mustResolve(t, h, aServer)
	for _, path := range []string{".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", "a/b/.envrc", ".github/workflows/x", "shared/mcp.json", "sub/.git/config", "mod/.git", ".git/modules/mod/config", ".git/modules/mod/hooks/x",
		".git/config.worktree", ".git/modules/lib/away/config", ".git/worktrees/far/commondir", ".git/worktrees/far/gitdir", ".git/worktrees/far/config.worktree", "hg/.hg/hgrc"} {
		path = "/home/u/proj/" + path
		if !p.Allows(policy.OpRead, path) || p.Allows(policy.OpWrite, path) || p.Allows(policy.OpTruncate, path) {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	for _, path := range []string{".git/hooks/new", ".vscode/new", ".mcp.json", ".cursor", ".husky", ".husky/x", "sub/.git/hooks", ".gitmodules", ".git/commondir", "sub/.git/commondir", ".git/worktrees/new/commondir", ".git/modules/new", "hg2/.hg/hgrc", "new/.hg/hgrc", "hg2/.hg/sharedpath"} {
		if p.Allows(policy.OpCreate, "/home/u/proj/"+path) {
			t.Errorf("%s can be made", path)
		}
	}
	for _, path := range []string{".git", ".git/hooks", ".vscode", "a", "a/b", ".github", "sub"} {
		path = "/home/u/proj/" + path
		if p.Allows(policy.OpRemove, path) || policytest.AllowsRename(p, path, "/home/u/proj/elsewhere") || policytest.AllowsReplace(p, "/home/u/proj/x", path) {
			t.Errorf("%s can be moved away", path)
		}
	}
	for _, path := range []string{".git/HEAD", ".git/index.lock", ".git/worktrees/far/HEAD", ".git/worktrees/new/HEAD", "hg/.hg/dirstate", "a/b/c", ".github/x", "elsewhere/.gitx"} {
		path = "/home/u/proj/" + path
		if !p.Allows(policy.OpCreate, path) || !p.Allows(policy.OpWrite, path) || !p.Allows(policy.OpRemove, path) {
			t.Errorf("%s is out of reach", path)
		}
	}
	if policytest.AllowsRename(p, "/home/u/proj/x", "/home/u/proj/.husky") || policytest.AllowsRename(p, "/home/u/proj/x", "/home/u/proj/sub/.git/hooks") {
		t.Error("a protected name can be renamed into being")
	}
	// The hooks of a repository that was moved are protected too.
	if policytest.AllowsRename(p, "/home/u/proj/young", "/home/u/proj/old") || policytest.AllowsRename(p, "/home/u/proj/young/.git", "/home/u/proj/x") {
		t.Error("a repository without hooks can be moved away")
	}
	// The hooks of a worktree are those of its repository.
	p, _ = mustResolve(t, h, fsRules("~/w:rw", "~/repo:rw"))
	for _, path := range []string{"/home/u/w/.git", "/home/u/repo/.git/config", "/home/u/repo/.git/hooks/x", "/home/u/repo/.git/worktrees/w/commondir"} {
		if p.RightsAt(path) != policy.Read {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	// That repository may be bare, and then its directory has no special name.
	bare := newFake(aSystem, `
		f /home/u/bare/config
		d /home/u/bare/hooks
		f /home/u/bare/worktrees/w/commondir ../..\n
		f /home/u/w/.git gitdir: /home/u/bare/worktrees/w\n`)
	p, _ = mustResolve(t, bare, fsRules("~/w:rw", "~/bare:rw"))
	for _, path := range []string{"/home/u/bare/config", "/home/u/bare/hooks/x"} {
		if p.RightsAt(path) != policy.Read {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	// A grant of the directory itself.
	p, _ = mustResolve(t, h, fsRules("~/proj/hg2/.hg:rw"))
	if p.Allows(policy.OpCreate, "/home/u/proj/hg2/.hg/hgrc") || !p.Allows(policy.OpCreate, "/home/u/proj/hg2/.hg/dirstate") {
		t.Error("the settings in a granted .hg")
	}
	// Rules that name protected files.
	p, _ = mustResolve(t, h, fsRules(".:rw", ".vscode:rw", ".git/hooks:rw", "a/b/.envrc:rw"))
	for _, path := range []string{".vscode/tasks.json", ".git/hooks/pre-commit", "a/b/.envrc"} {
		if !p.Allows(policy.OpWrite, "/home/u/proj/"+path) {
			t.Errorf("%s is named and not granted", path)
		}
	}
	if p.Allows(policy.OpWrite, "/home/u/proj/.git/config") {
		t.Error(".git/config is granted and not named")
	}
	// A grant without write needs no protection.
	p, _ = mustResolve(t, h, fsRules(".:r"))
	if len(p.Unprotected) != 0 {
		t.Errorf("unprotected %v", p.Unprotected)
	}
	for _, e := range p.Entries {
		if e.Origin == policy.OriginProtected {
			t.Errorf("%+v", e)
		}
	}
}

func TestOwnFilesAreProtected(t *testing.T) {
	h := newFake(aSystem, "x /home/u/bin/mcp-jail\nx /home/u/bin/mcp-jail-tls\nx /home/u/bin/mcp-jail-cli\nf /home/u/.config/mcp-jail/config.toml\nf /home/u/.codex/config.toml\nf /home/u/.claude.json")
	own := func(h *hostfs.Host) { h.Executable = "/home/u/bin/mcp-jail" }
	p, _ := mustResolve(t, h, fsRules("~:rw", "~/.codex:rw"), own)
	for _, path := range []string{"/home/u/bin/mcp-jail", "/home/u/bin/mcp-jail-tls", "/home/u/bin/mcp-jail-cli", "/home/u/.config/mcp-jail/config.toml", "/home/u/.codex/config.toml", "/home/u/.claude.json", "/home/u/.local/state/mcp-jail/trust.toml", "/home/u/.local/state/mcp-jail/servers/other/home/x"} {
		if p.Allows(policy.OpWrite, path) || p.Allows(policy.OpCreate, path) {
			t.Errorf("%s: %s", path, p.RightsAt(path))
		}
	}
	for _, path := range []string{"/home/u/.local/state/mcp-jail/servers/other/home/x", "/home/u/.local/state/mcp-jail/servers/s/last.json"} {
		if p.Allows(policy.OpRead, path) {
			t.Errorf("%s can be read", path)
		}
	}
	if home := p.Home + "/x"; !p.Allows(policy.OpCreate, home) || !p.Allows(policy.OpWrite, home) || !p.Allows(policy.OpExec, home) {
		t.Errorf("the private HOME: %s", p.RightsAt(home))
	}
	checkProfile(t, p)
}

// TestStartupFiles checks that a grant of the home directory excludes the files that the
// user's own shells, sessions and editors run next.
func TestStartupFiles(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.bashrc
		f /home/u/.config/git/config
		f /home/u/.config/git/credentials
		d /home/u/.config/systemd/user
		f /home/u/.config/Code/User/tasks.json
		f /home/u/.local/bin/tool
		f /home/u/.local/share/mine
		l /home/u/.vimrc dotfiles/vim/rc
		f /home/u/dotfiles/vim/rc
		f /home/u/dotfiles/README
		l /home/u/.zshrc /data/shared/zshrc
		f /data/shared/zshrc
		f /home/u/proj/.bashrc`)
	p, _ := mustResolve(t, h, fsRules("~:rw"))
	for _, name := range []string{".bashrc", ".config/git/config", ".config/systemd/user/x.service", ".config/Code/User/tasks.json", ".local/bin/tool", "dotfiles/vim/rc"} {
		name = "/home/u/" + name
		if !p.Allows(policy.OpRead, name) || p.Allows(policy.OpWrite, name) || p.Allows(policy.OpRemove, name) || p.Allows(policy.OpCreate, name) || policytest.AllowsReplace(p, "/home/u/x", name) {
			t.Errorf("%s: %s", name, p.RightsAt(name))
		}
	}
	for _, s := range decidingPaths("linux") {
		name := "/home/u" + strings.TrimPrefix(s, "~")
		if p.Allows(policy.OpCreate, name) || p.Allows(policy.OpWrite, name) || policytest.AllowsRename(p, "/home/u/x", name) {
			t.Errorf("%s can be made", name)
		}
	}
	for _, name := range []string{".config", ".config/systemd", ".local", "dotfiles", "dotfiles/vim"} {
		if policytest.AllowsRename(p, "/home/u/"+name, "/home/u/elsewhere") {
			t.Errorf("%s can be moved away", name)
		}
	}
	for _, name := range []string{"notes", ".local/share/mine", ".config/mine", "dotfiles/README", "proj/.bashrc", "proj/.vimrc"} {
		name = "/home/u/" + name
		if !p.Allows(policy.OpWrite, name) || !p.Allows(policy.OpCreate, name) {
			t.Errorf("%s is out of reach", name)
		}
	}
	if p.Allows(policy.OpRead, "/home/u/.config/git/credentials") {
		t.Error("a hidden file below a protected directory can be read")
	}
	// The file is in another grant, and a link in the home directory leads to it.
	p, _ = mustResolve(t, h, fsRules("/data/shared:rw", "~/dotfiles:rw"))
	for _, name := range []string{"/data/shared/zshrc", "/home/u/dotfiles/vim/rc"} {
		if p.RightsAt(name) != policy.Read {
			t.Errorf("%s: %s", name, p.RightsAt(name))
		}
	}
	// A rule that names such a file or directory grants it.
	p, _ = mustResolve(t, h, fsRules("~:rw", "~/.config/systemd:rw", "~/.bashrc:rw"))
	if !p.Allows(policy.OpWrite, "/home/u/.config/systemd/user/x") || !p.Allows(policy.OpWrite, "/home/u/.bashrc") || p.Allows(policy.OpWrite, "/home/u/.config/git/config") {
		t.Error("a rule that names one does not grant it, or grants more")
	}
	for _, list := range [][]string{decidingPaths("linux"), decidingPaths("darwin"), places.ClientFiles("darwin")} {
		for i, s := range list {
			if !strings.HasPrefix(s, "~/") && (s[0] != '/' || slices.Contains(decidingPaths("linux"), s)) || slices.Contains(list[i+1:], s) {
				t.Errorf("%s", s)
			}
		}
	}
}
