package wrapping

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlugins: the servers of plugins are wrapped where the client reads them. A plugin's text counts as
// another's: it steers nothing outside of the jail.
func TestPlugins(t *testing.T) {
	const (
		root = ".claude/plugins/cache/m/p/1/"
		list = `{"version": 2, "plugins": {"p@m": [{"scope": "user", "version": "1", "installPath": "HOME/` + root + `"}]}}`
	)
	for name, c := range map[string]struct {
		client, file, text string
		off                bool
		want               string // the words before the server's, or why it stays
	}{
		"a launcher": {"claude-code", root + ".mcp.json", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}`, false, "--name a --"},
		"at the top": {"claude-code", root + ".mcp.json", `{"a": {"command": "npx", "args": ["-y", "x"]}}`, false, "--name a --"},
		"its own code": {"claude-code", root + ".mcp.json", `{"mcpServers": {"a": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/s.js"]}}}`, false,
			"--name a-HASH --env CLAUDE_PLUGIN_ROOT --env CLAUDE_PLUGIN_DATA --"},
		"a file of its own": {"claude-code", root + ".mcp.json", `{"mcpServers": {"a": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/s.js", "${CLAUDE_PLUGIN_ROOT}/d"]}}}`, false,
			"--name a-HASH --env CLAUDE_PLUGIN_ROOT --env CLAUDE_PLUGIN_DATA --read ${CLAUDE_PLUGIN_ROOT}/d --read ${CLAUDE_PLUGIN_ROOT} --"},
		"its data": {"claude-code", root + ".mcp.json", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x", "${CLAUDE_PLUGIN_DATA}"]}}}`, false,
			"--name a --write ${CLAUDE_PLUGIN_DATA} --env CLAUDE_PLUGIN_DATA --"},
		"in the manifest": {"claude-code", root + ".claude-plugin/plugin.json", `{"name": "p", "mcpServers": [{"a": {"command": "npx", "args": ["-y", "x"]}}]}`, false, "--name a --"},
		"switched off":    {"claude-code", root + ".mcp.json", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}`, true, "is switched off"},
		"a variable that acts on mcp-jail": {"claude-code", root + ".mcp.json", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"npm_config_registry": "http://x"}}}}`, false,
			"has a variable that would change"},
		"an extension": {"gemini", ".gemini/extensions/e/gemini-extension.json", `{"name": "e", "mcpServers": {"a": {"command": "node", "args": ["${extensionPath}${/}s.js"]}}}`, false, "--name a-HASH --"},
		"a bundle": {"claude-desktop", ".config/Claude/Claude Extensions/e/manifest.json", `{"server": {"type": "node", "mcp_config": {"command": "node", "args": ["${__dirname}/s.js"], "env": {"K": "${user_config.k}"}}}}`, false,
			"--name e-HASH --env K --"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			if c.client == "claude-code" {
				write(t, filepath.Join(h.Home, ".claude/plugins/installed_plugins.json"), strings.ReplaceAll(list, "HOME", h.Home))
				write(t, filepath.Join(h.Home, root, "s.js"), "")
				write(t, filepath.Join(h.Home, root, "d"), "")
			}
			if c.off {
				write(t, filepath.Join(h.Home, ".claude/settings.json"), `{"enabledPlugins": {"p@m": false}}`)
			}
			path := filepath.Join(h.Home, c.file)
			write(t, path, c.text)
			for _, sel := range []Selection{{}, {Files: []string{path}}} {
				f := only(t, h, sel)
				if f.Client.Name != c.client || f.Plugin() == nil || !f.IsProject() {
					t.Fatalf("%s, %v, %v", f.Client.Name, f.Plugin(), f.IsProject())
				}
				change := f.Wrap(Program{Path: program}, sel, h, NewNames([]*File{f}, nil))
				got := change.Servers[0].Left
				if got == "" {
					after := strings.Join(change.Servers[0].After, " ")
					words, _, _ := strings.Cut(strings.TrimPrefix(after, program+" run "), " -- ")
					got = strings.ReplaceAll(words, f.Entries[0].ownHash(), "HASH") + " --"
				}
				if !strings.HasPrefix(got, c.want) {
					t.Fatalf("%q, want %q", got, c.want)
				}
			}
		})
	}
}

// TestPluginsBring: a plugin's own program has the name of another, and not the preset of that one. So it
// is with a launcher or wrapper, and with a directory that the plugin has npx start in.
func TestPluginsBring(t *testing.T) {
	const brings = "names a package with the preset github-archived, and brings its own code that would get its rights: "
	for name, c := range map[string]struct{ client, entry, want string }{
		"control: a program of PATH":   {"claude-code", `"command": "github-mcp-server", "args": ["stdio"]`, "--name a-HASH --preset github --"},
		"control: a program elsewhere": {"claude-code", `"command": "HOME/bin/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --preset github --"},
		"control: a launcher":          {"claude-code", `"command": "npx", "args": ["-y", "` + github + `"]`, "--name a --preset github-archived --"},
		"its program":                  {"claude-code", `"command": "${CLAUDE_PLUGIN_ROOT}/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --"},
		"by its path":                  {"claude-code", `"command": "HOME/ROOT/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --"},
		"through a link":               {"claude-code", `"command": "HOME/link/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --"},
		"of another plugin":            {"claude-code", `"command": "HOME/.claude/plugins/cache/m/q/1/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --"},
		"of the marketplace":           {"claude-code", `"command": "HOME/.claude/plugins/marketplaces/m/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --"},
		"in its data":                  {"claude-code", `"command": "${CLAUDE_PLUGIN_DATA}/github-mcp-server", "args": ["stdio"]`, "--name a-HASH --write ${CLAUDE_PLUGIN_DATA} --"},
		"a wrapper of its own":         {"claude-code", `"command": "${CLAUDE_PLUGIN_ROOT}/nice", "args": ["npx", "-y", "` + github + `"]`, brings + "HOME/ROOT/nice"},
		"a launcher of its own":        {"claude-code", `"command": "nice", "args": ["HOME/ROOT/npx", "-y", "` + github + `"]`, brings + "HOME/ROOT/npx"},
		"another directory":            {"claude-code", `"command": "env", "args": ["-C", "HOME/ROOT", "npx", "-y", "` + github + `"]`, brings + "env -C HOME/ROOT"},
		"npx in its folder":            {"gemini", `"command": "npx", "args": ["-y", "` + github + `"], "cwd": "${extensionPath}"`, brings + "HOME/ROOT"},
		"an extension's":               {"gemini", `"command": "${extensionPath}/github-mcp-server"`, "--name a-HASH --"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			root, file := ".claude/plugins/cache/m/p/1", ".mcp.json"
			if c.client == "gemini" {
				root, file = ".gemini/extensions/e", "gemini-extension.json"
			} else {
				write(t, filepath.Join(h.Home, ".claude/plugins/installed_plugins.json"), `{"plugins": {"p@m": [{"installPath": "`+h.Home+"/"+root+`"}]}}`)
			}
			in := strings.NewReplacer("HOME", h.Home, "ROOT/", root+"/", "ROOT\"", root+"\"", "/ROOT", "/"+root)
			for _, name := range []string{root + "/node_modules/.bin/mcp-server-github", root + "/node_modules/" + github + "/package.json", root + "/github-mcp-server"} {
				write(t, filepath.Join(h.Home, name), `{"name": "`+github+`", "version": "1.0.0"}`)
			}
			must(t, os.Chmod(filepath.Join(h.Home, root, "node_modules/.bin/mcp-server-github"), 0o755))
			must(t, os.Symlink(filepath.Join(h.Home, root), filepath.Join(h.Home, "link")))
			path := filepath.Join(h.Home, root, file)
			write(t, path, `{"mcpServers": {"a": {`+in.Replace(c.entry)+`}}}`)
			f := only(t, h, Selection{Clients: []string{c.client}})
			s := f.Wrap(Program{Path: program}, Selection{}, h, NewNames(nil, nil)).Servers[0]
			got := string(s.Left)
			if got == "" {
				words, _, _ := strings.Cut(strings.TrimPrefix(strings.Join(s.After, " "), program+" run "), " -- ")
				got = strings.ReplaceAll(words, f.Entries[0].ownHash(), "HASH") + " --"
			}
			for _, variable := range []string{"ROOT", "DATA"} {
				got = strings.ReplaceAll(got, " --env CLAUDE_PLUGIN_"+variable, "")
			}
			got, _, _ = strings.Cut(got, "/node_modules/")
			if got != in.Replace(c.want) {
				t.Errorf("%q, want %q", got, in.Replace(c.want))
			}
		})
	}
}

// TestPluginsNamed: a server of a plugin that no file has is named, and so is an extension with code.
func TestPluginsNamed(t *testing.T) {
	h := newHost(t)
	root := filepath.Join(h.Home, ".claude/plugins/cache/m/p/1")
	write(t, filepath.Join(root, ".claude-plugin/plugin.json"), `{"mcpServers": "./s.mcpb"}`)
	write(t, filepath.Join(h.Home, ".codex/plugins/cache/m/p/1/.mcp.json"), `{"mcpServers": {}}`)
	write(t, filepath.Join(h.Home, ".codex/plugins/elsewhere/.mcp.json"), `{"mcpServers": {}}`)
	for _, dir := range []string{"a.b-1", "a.c-1", "a.c-2"} {
		write(t, filepath.Join(h.Home, ".vscode/extensions", dir, "package.json"), `{"contributes": {"mcpServerDefinitionProviders": [{"id": "x"}]}}`)
	}
	write(t, filepath.Join(h.Home, ".vscode/extensions/a.d-1/package.json"), `{"contributes": {}}`)
	write(t, filepath.Join(h.Home, ".vscode/extensions/.obsolete"), `{"a.c-1": true}`)
	var got []string
	for _, b := range Unread(h, Selection{}) {
		if strings.Contains(b.Path, ".mcp") || b.Starts {
			why, _, _ := strings.Cut(b.Why, ": ")
			got = append(got, strings.TrimPrefix(b.Path, h.Home+"/")+" "+why)
		}
	}
	want := "~/.vscode/extensions/a.b-1/package.json not jailed; ~/.vscode/extensions/a.c-2/package.json not jailed; ~/.codex/plugins/elsewhere/.mcp.json it is in no folder of a plugin that mcp-jail knows; ./s.mcpb of the plugin p@m 1"
	if strings.Join(got, "; ") != strings.ReplaceAll(want, "~/", "") {
		t.Errorf("%q", got)
	}
}
