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

// decidingPaths returns the paths of all groups of an operating system.
func decidingPaths(os string) (paths []string) {
	for _, g := range places.DecidingFiles(os) {
		paths = append(paths, g.Paths...)
	}
	return paths
}

// refuses returns an error text unless a profile lets a path be read, and neither be written, made,
// removed, replaced nor moved.
func refuses(p *policy.Profile, name string) string {
	for what, allowed := range map[string]bool{
		"written": p.Allows(policy.OpWrite, name), "made": p.Allows(policy.OpCreate, name), "removed": p.Allows(policy.OpRemove, name),
		"replaced": policytest.AllowsReplace(p, "/home/u/x", name), "moved": policytest.AllowsRename(p, name, "/home/u/y"),
	} {
		if allowed {
			return name + " can be " + what
		}
	}
	return ""
}

// TestPrograms checks that a grant of the home directory protects the files that are started by
// name, wherever the links in PATH lead, and the directories from which they take their parts.
func TestPrograms(t *testing.T) {
	const programs = `x /home/u/.local/share/claude/versions/1.0
l /home/u/.local/bin/claude /home/u/.local/share/claude/versions/1.0
x /home/u/tools/ruff/bin/ruff
f /home/u/tools/ruff/lib/site.py
l /home/u/.local/bin/ruff ../../tools/ruff/bin/ruff
x /home/u/chain/v2/run
l /home/u/chain/current v2
l /home/u/chain/link current/run
l /home/u/bin/chained ../chain/link
l /home/u/.cargo/bin/later ../../later/prog
x /home/u/app/node_modules/tool/cli.js
f /home/u/app/node_modules/dep/index.js
l /home/u/opt/bin/tool /home/u/app/node_modules/tool/cli.js
x /home/u/opt/bin/own
x /home/u/opt/lib/libown.so
x /home/u/src/work/bin/script
f /home/u/src/work/lib/mine.rb
d /home/u/src/work/.git
l /home/u/bin/script ../src/work/bin/script
l /home/u/bin/around ../src
l /home/u/.config/nvim/init.lua ../../dotfiles/init.lua
f /home/u/dotfiles/init.lua
f /home/u/.zfunc/_mcp-jail
x /home/u/apps/client/node
x /home/u/node18/bin/node
x /home/u/.fnm/node-versions/x/installation/bin/node
x /home/u/elsewhere/nvm/versions/node/v20/bin/node
f /home/u/notes/text
l /home/u/.local/bin/note /home/u/note.py
x /home/u/note.py
d /home/u/proj/node_modules/.bin`
	env := func(h *hostfs.Host) {
		h.Environ = append(h.Environ, "PATH=/home/u/opt/bin:/home/u/proj/node_modules/.bin:/home/u/proj:/usr/bin:/bin", "NVM_DIR=/home/u/elsewhere/nvm", "npm_config_cache=/home/u/npmcache")
		h.Ancestors = func() []string { return []string{"/home/u/apps/client/node", "/usr/bin/bash"} }
	}
	p, _ := mustResolve(t, newFake(aSystem, programs), fsRules("~:rw"), env)
	for _, name := range []string{
		".local/bin/claude", ".local/bin/new", ".local/share/claude/versions/1.0", ".local/share/claude/versions/2.0", "tools/ruff/bin/ruff", "tools/ruff/bin/x", "tools/ruff/lib/site.py",
		"chain/v2/run", "chain/v2/x", "chain/current", "chain/link", "later/prog", "app/node_modules/tool/cli.js", "app/node_modules/dep/index.js", "opt/bin/own", "opt/bin/new", "opt/lib/libown.so",
		"src/work/bin/script", "dotfiles/init.lua", ".zfunc/_mcp-jail", ".zfunc/new", "apps/client/node", "apps/client/lib.js", ".fnm/node-versions/y/installation/bin/node", ".nodenv/versions/x/bin/node", "n/n/versions/node/x/bin/node",
		".config/nvm/x", ".nvm/versions/node/x", "elsewhere/nvm/versions/node/v20/bin/node", "elsewhere/nvm/alias/default", ".npm/_cacache/index-v5/x", "npmcache/_cacache/x", ".cache/pip/x", ".cache/uv/x", ".local/share/pnpm/x", "note.py",
		".config/google-chrome/NativeMessagingHosts/x.json", ".local/share/direnv/allow/x", ".config/mpv/scripts/x.lua", ".local/share/gh/extensions/x", ".nix-profile", ".config/bash_completion", ".zshrc.zwc",
	} {
		if fault := refuses(p, "/home/u/"+name); fault != "" {
			t.Error(fault)
		}
	}
	for _, dir := range []string{"tools", "tools/ruff", "chain", "chain/v2", "app", "opt", "apps", "apps/client"} {
		if policytest.AllowsRename(p, "/home/u/"+dir, "/home/u/away") {
			t.Errorf("%s can be moved", dir)
		}
	}
	// Control: ordinary files, a working copy beside its bin, what is beside a file in HOME itself.
	for _, name := range []string{"notes/text", "notes/new", "src/work/lib/mine.rb", "src/other", "new.py", ".cache/fontconfig/x", ".local/share/app/x", "node18/x", "proj/x", "proj/node_modules/.bin/x"} {
		if name = "/home/u/" + name; !p.Allows(policy.OpWrite, name) || !p.Allows(policy.OpCreate, name) {
			t.Errorf("control: %s is out of reach", name)
		}
	}
}

// TestProgramsInGrant checks the same for a grant that holds only what a link in PATH leads to, and
// that the work in a workspace stays writable.
func TestProgramsInGrant(t *testing.T) {
	h := newFake(aSystem, `x /home/u/proj/tool.py
x /home/u/proj/scripts/run
l /home/u/.local/bin/tool /home/u/proj/tool.py
l /home/u/.local/bin/run ../../proj/scripts/run
l /usr/local/bin/other /home/u/proj/other.py
x /home/u/proj/other.py
f /home/u/proj/main.py`)
	p, ws := mustResolve(t, h, fsRules(".:rw"))
	for _, name := range []string{"tool.py", "scripts/run", "scripts/x", "other.py"} {
		if fault := refuses(p, "/home/u/proj/"+name); fault != "" {
			t.Error(fault)
		}
	}
	for _, name := range []string{"main.py", "new", "sub/new"} {
		if name = "/home/u/proj/" + name; !p.Allows(policy.OpWrite, name) || !p.Allows(policy.OpCreate, name) {
			t.Errorf("control: %s is out of reach", name)
		}
	}
	if strings.Contains(codes(ws), "deciding") {
		t.Error(codes(ws))
	}
	// A rule that names the file grants it.
	p, _ = mustResolve(t, h, fsRules(".:rw", "~/proj/tool.py:rw"))
	if !p.Allows(policy.OpWrite, "/home/u/proj/tool.py") {
		t.Error("a rule that names the program does not grant it")
	}
}

// TestProgramsOfTrees checks that a program in PATH keeps all of the tree around its bin, where that
// is a tree of its own.
func TestProgramsOfTrees(t *testing.T) {
	h := newFake(aSystem, `x /home/u/sdk/go/bin/go
x /home/u/sdk/go/pkg/tool/linux_amd64/compile
f /home/u/sdk/go/go.env
x /home/u/VSC/bin/code
x /home/u/VSC/code
f /home/u/VSC/resources/app/out/main.js
l /home/u/.local/bin/code /home/u/VSC/bin/code
x /home/u/.local/bin/own
f /home/u/.local/lib/own.py
f /home/u/.local/share/data
x /home/u/jdk/bin/java
f /home/u/jdk/conf/security/java.security
x /home/u/go/bin/tool
f /home/u/go/src/mine/main.go
x /home/u/ws/bin/script
f /home/u/ws/data
x /home/u/copy/bin/script
f /home/u/copy/src/main.go
d /home/u/copy/.git
x /home/u/mine/bin/script
f /home/u/mine/data`)
	env := func(h *hostfs.Host) {
		h.Environ = append(h.Environ, "PATH=/home/u/sdk/go/bin:/home/u/.local/bin:/home/u/jdk/bin:/home/u/go/bin:/home/u/ws/bin:/home/u/copy/bin:/home/u/mine/bin:/usr/bin:/bin")
		h.Dir = "/home/u/ws"
	}
	p, _ := mustResolve(t, h, fsRules("~:rw", "~/mine:rw"), env)
	for _, name := range []string{
		"sdk/go/bin/go", "sdk/go/pkg/tool/linux_amd64/compile", "sdk/go/go.env", "sdk/go/new", "VSC/code", "VSC/resources/app/out/main.js", "VSC/new", "jdk/conf/security/java.security",
		".local/bin/new", ".local/lib/own.py", ".local/etc/npmrc", "go/bin/new", "ws/bin/script", "copy/bin/script", "mine/bin/script",
	} {
		if fault := refuses(p, "/home/u/"+name); fault != "" {
			t.Error(fault)
		}
	}
	// Control: what is beside a tree, data of others, source, the workspace, a working copy, and what
	// a rule names.
	for _, name := range []string{"sdk/new", ".local/share/data", ".local/share/new", "go/src/mine/main.go", "ws/data", "ws/new", "copy/src/main.go", "mine/data", "mine/new"} {
		if name = "/home/u/" + name; !p.Allows(policy.OpWrite, name) || !p.Allows(policy.OpCreate, name) {
			t.Errorf("control: %s is out of reach", name)
		}
	}
}

// TestDecidingGranted checks the warnings for rules that name what decides outside of the jail.
func TestDecidingGranted(t *testing.T) {
	h := newFake(aSystem, "d /home/u/.npm/_cacache\nd /home/u/.cache/pip\nd /home/u/.cache/app\nd /home/u/tools/bin\nd /home/u/tools/data")
	env := func(h *hostfs.Host) { h.Environ = append(h.Environ, "PATH=/home/u/tools/bin:/usr/bin:/bin") }
	for rule, want := range map[string][]string{
		"~/.npm:rw":          {"deciding-granted", `"~/.npm"`, "c.toml:", "package managers install and run"},
		"~/.npm/_cacache:rw": {"deciding-granted", "~/.npm"},
		"~/.cache:rw":        {"deciding-kept", "~/.cache/pip"},
		"~/tools/bin:rw":     {"deciding-granted", "it is in PATH"},
		"~/.local/bin/x/:rw": {"deciding-granted", "~/.local/bin"},
		"~/.npm:r":           nil,
		"~/tools:rw":         nil,
		"~/.cache/app:rw":    nil,
		"~:rw":               nil,
	} {
		_, ws := mustResolve(t, h, fsRules(rule), env)
		at := slices.IndexFunc(ws, func(w policy.Warning) bool { return strings.HasPrefix(w.Code, "deciding") })
		if at < 0 {
			if want != nil {
				t.Errorf("%s: no warning: %s", rule, codes(ws))
			}
			continue
		}
		text := ws[at].Code + " " + ws[at].String()
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s lacks %s", rule, text, part)
			}
		}
		if want == nil {
			t.Errorf("%s: %s", rule, text)
		}
	}
}
