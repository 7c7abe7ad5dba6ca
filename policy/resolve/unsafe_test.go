package resolve

import (
	"cmp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// placesHost has places that decide what runs outside of the jail, that hold secrets, and that look
// like these and are the user's work.
func placesHost() hostfs.Host {
	h := newFake(aSystem, `d /home/u/.config/autostart/x
d /home/u/.config/systemd/user
d /home/u/.config/google-chrome/Default
d /home/u/.config/google-chrome-beta
d /home/u/.config/opera/p
d /home/u/.config/operator
d /home/u/.config/app
d /home/u/.config/nvim
d /home/u/.cargo/registry
l /home/u/.config/vivaldi /data/vivaldi
d /data/vivaldi/Default
d /data/moved/vault/x
l /home/u/.thunderbird /data/mail
d /data/mail/p
d /data/npm/_cacache
d /data/else
d /home/u/.local/bin/x
d /home/u/bin
d /home/u/.nvm/versions
d /home/u/.npm
d /home/u/.claude/hooks
d /home/u/.claude/worktrees/copy/src
d /home/u/.cursor/worktrees/repo/copy
d /home/u/.local/share/opencode/worktree/id/copy
d /home/u/.local/share/opencode/bin
d /home/u/.gemini/antigravity/playground/blue
d /home/u/scripts/lib
d /home/u/tools/bin
d /home/u/tools/data
d /home/u/vault/x
d /home/u/repo/.git/hooks
d /home/u/repo/.git/info
d /home/u/repo/.git/modules/sub
d /home/u/repo/.vscode
d /home/u/repo/.claude/worktrees/copy/.husky
d /home/u/repo/.husky/_
d /home/u/repo/.github/workflows
d /home/u/repo/.github/ISSUE_TEMPLATE
d /home/u/repo/.CURSOR
d /home/u/repo/.env/lib
d /home/u/repo/bin
d /home/u/repo/sub/deep
l /home/u/repo/auto ../.config/autostart
l /home/u/repo/cache .git/hooks
l /home/u/repo/chrome ../.config/google-chrome/Default
l /home/u/repo/work ../work
d /home/u/work/.git
d /home/u/org/.github/profile
d /home/u/git/x.git/hooks
d /home/u/dotfiles/nvim/lua
l /home/u/.config/helix /home/u/dotfiles/helix
d /home/u/dotfiles/helix
d /mnt/bound/deep
d /home/u/APPLICATIONS/app`).host()
	h.Environ = append(h.Environ, "PATH=/home/u/tools/bin:/home/u/scripts:/home/u/repo/bin:/usr/bin:/bin", "npm_config_cache=/data/npm")
	lstat := h.Lstat
	h.Lstat = func(p string) (hostfs.FileInfo, error) { // a bind mount
		info, err := lstat(p)
		if of, found := lstat("/home/u/.config/autostart"); p == "/mnt/bound" && found == nil {
			info.ID = of.ID
		}
		return info, err
	}
	return h
}

// unsafePlaces are directories of placesHost that nothing grants as the workspace, with a part of
// the reason.
var unsafePlaces = map[string]string{
	"/home/u/.config/autostart": "is ~/.config/autostart (", "/home/u/.config/autostart/x": "is in ~/.config/autostart (", "/home/u/repo/auto": "is ~/.config/autostart (", "/mnt/bound": "is ~/.config/autostart (", "/mnt/bound/deep": "is in ~/.config/autostart (",
	"/home/u/.config/systemd/user": "~/.config/systemd", "/home/u/.config/nvim": "~/.config/nvim", "/home/u/dotfiles/helix": "~/.config/helix", "/home/u/.cargo/registry": "package managers",
	"/home/u/.local/bin": "is ~/.local/bin (", "/home/u/.local/bin/x": "is in ~/.local/bin (", "/home/u/bin": "~/bin", "/home/u/.nvm/versions": "version managers", "/home/u/.npm": "package managers", "/data/npm": "is /data/npm (package managers", "/data/npm/_cacache": "is in /data/npm (",
	"/home/u/tools/bin": "it is in PATH", "/home/u/scripts": "it is in PATH", "/home/u/repo/bin": "it is in PATH",
	"/home/u/.claude": "MCP clients start", "/home/u/.claude/hooks": "MCP clients start", "/home/u/.claude/worktrees": "MCP clients start", "/home/u/.local/share/opencode/bin": "is in ~/.local/share/opencode (",
	"/home/u/.config/google-chrome": "sensitive path (~/.config/google-chrome*)", "/home/u/.config/google-chrome/Default": "sensitive path (~/.config/google-chrome*)", "/home/u/repo/chrome": "sensitive path (~/.config/google-chrome*)", "/home/u/.config/google-chrome-beta": "sensitive path", "/home/u/.config/opera/p": "sensitive path", "/data/vivaldi/Default": "sensitive path (~/.config/vivaldi*)", "/data/mail/p": "sensitive path (~/.thunderbird)",
	"/home/u/vault": "sensitive path (~/vault)", "/home/u/vault/x": "sensitive path (~/vault)", "/data/moved/vault/x": "sensitive path (**/moved/vault)", "/home/u/repo/.env": "sensitive path (**/.env)", "/home/u/repo/.env/lib": "sensitive path (**/.env)",
	"/home/u/repo/.git": "is ~/repo/.git (", "/home/u/repo/.git/hooks": "is in ~/repo/.git (", "/home/u/repo/cache": "is in ~/repo/.git (", "/home/u/repo/.git/info": "~/repo/.git", "/home/u/repo/.git/modules/sub": "~/repo/.git",
	"/home/u/repo/.vscode": "is ~/repo/.vscode (", "/home/u/repo/.husky/_": "is in ~/repo/.husky (", "/home/u/repo/.claude/worktrees": "is in ~/repo/.claude (", "/home/u/repo/.github/workflows": "~/repo/.github", "/home/u/repo/.github": "is ~/repo/.github (", "/home/u/repo/.CURSOR": "~/repo/.CURSOR",
	"/home/u/repo/.claude/worktrees/copy/.husky": "is ~/repo/.claude/worktrees/copy/.husky (",
}

// workPlaces are directories of placesHost that are the workspace without any warning.
var workPlaces = []string{
	"/home/u/repo", "/home/u/repo/sub", "/home/u/repo/work", "/home/u/repo/.claude/worktrees/copy", "/home/u/repo/.github/ISSUE_TEMPLATE", "/home/u/work", "/home/u/org/.github", "/home/u/org/.github/profile", "/home/u/git/x.git",
	"/home/u/.claude/worktrees/copy", "/home/u/.claude/worktrees/copy/src", "/home/u/.cursor/worktrees/repo/copy", "/home/u/.local/share/opencode/worktree/id/copy", "/home/u/.gemini/antigravity/playground/blue",
	"/home/u/dotfiles", "/home/u/dotfiles/nvim/lua", "/home/u/.config/app", "/home/u/tools", "/home/u/tools/data", "/home/u/scripts/lib", "/home/u/APPLICATIONS/app", "/data/else", "/data/moved",
}

// TestUnsafePlaces checks that neither the default policy nor a preset grants a workspace that
// decides what runs outside of the jail, or that holds secrets, from wherever it is taken. Nor does a
// rule for ".". A rule of the user with the whole path grants it. Other directories are granted without a warning.
func TestUnsafePlaces(t *testing.T) {
	judge := func(cwd, workspace string, rule *policy.FsRule) (granted bool, ws []policy.Warning) {
		h := placesHost()
		h.Dir = cwd
		p := &policy.Policy{Server: "s", Command: "server", Workspace: workspace, Default: rule == nil, Fs: []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}, Limits: policy.DefaultLimits, Sensitive: []string{"~/vault", "**/moved/vault"}}
		if rule != nil {
			p.Fs = []policy.FsRule{*rule}
		}
		out, ws, err := Resolve(p, h)
		if err != nil {
			t.Fatalf("%s: %v", cwd, err)
		}
		at, _ := hostfs.NewLinkResolver(&h).Resolve(cmp.Or(workspace, cwd))
		e, ok := out.Find(at.Path)
		return ok && e.Origin == policy.OriginRule && e.Rights != 0, ws
	}
	preset := policy.FsRule{Path: ".", Read: true, Update: true, Where: "preset x:3", Preset: true}
	own := policy.FsRule{Path: ".", Read: true, Update: true, Where: "c.toml:3"}
	for dir, want := range unsafePlaces {
		for i, rule := range []*policy.FsRule{nil, &preset, nil} {
			cwd, workspace := dir, ""
			if i > 0 {
				cwd, workspace = "/work", dir
			}
			granted, ws := judge(cwd, workspace, rule)
			if granted || codes(ws) != "no-workspace" || !strings.Contains(ws[0].Message, want) {
				t.Errorf("%s, workspace %q, preset %v: granted %v, %v; want %s", dir, workspace, rule != nil, granted, ws, want)
			}
		}
		own.Path = "."
		if granted, ws := judge(dir, "", &own); granted || codes(ws) != "no-workspace" {
			t.Errorf("a rule of the user for the workspace %s: %v", dir, ws)
		}
		own.Path = dir
		if granted, ws := judge(dir, "", &own); !granted && !strings.Contains(codes(ws), "sensitive-masked") {
			t.Errorf("control: a rule of the user for %s grants nothing", dir)
		}
	}
	for _, dir := range workPlaces {
		for _, rule := range []*policy.FsRule{nil, &preset} {
			if granted, ws := judge(dir, "", rule); !granted || len(ws) > 0 {
				t.Errorf("control: %s, preset %v: granted %v, %v", dir, rule != nil, granted, ws)
			}
		}
	}
}

// TestOthersUnsafePlace checks that another server counts as a writer of its workspace if it gets
// one, and not if it gets none.
func TestOthersUnsafePlace(t *testing.T) {
	for dir, want := range map[string]bool{"/home/u/repo": true, "/home/u/scripts/lib": true, "/home/u/scripts": false, "/home/u/.config/autostart": false, "/home/u/.config/google-chrome/Default": false} {
		h := placesHost()
		h.Dir = "/home/u/work"
		other := &policy.Policy{Server: "o", Command: "server", Workspace: dir, Default: true, Fs: []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}}
		out, _, err := Resolve(&policy.Policy{Server: "s", Command: "server", Default: true, Fs: []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}, Limits: policy.DefaultLimits, Others: []*policy.Policy{other}}, h)
		testkit.Must(t, err)
		if _, ok := out.Reach.Writer(dir+"/x", policy.Write); ok != want {
			t.Errorf("%s: counts as writable: %v", dir, ok)
		}
	}
}
