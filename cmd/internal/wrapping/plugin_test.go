package wrapping

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPlugins: the servers of plugins are wrapped where the client reads them. A plugin's text counts as
// another's: it steers nothing outside of the jail.
func TestPlugins(t *testing.T) {
	const (
		root = ".claude/plugins/cache/m/p/1/"
		list = `{"version": 2, "plugins": {"p@m": [{"scope": "user", "version": "1", "installPath": "HOME/` + root + `"}]}}`
	)
	for name, c := range testkit.Named[struct {
		client, file, text string
		off                bool
		want               string // the words before the server's, or why it stays
	}](t, "plugins.txt") {
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
				change := f.Wrap(Program{Path: program}, sel, h, newIDs(h, f))
				got := change.Servers[0].Left
				if got == "" {
					after := strings.Join(change.Servers[0].After, " ")
					words, _, _ := strings.Cut(strings.TrimPrefix(after, program+" "), " -- ")
					got = words + " --"
				}
				if !strings.HasPrefix(got, c.want) {
					t.Fatalf("%q, want %q", got, c.want)
				}
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
