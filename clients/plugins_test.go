package clients

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// newLook returns a host, and what it has: files by path, in which HOME is the home directory.
func newLook(t *testing.T, files map[string]string) (Host, PluginLook) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	for name, text := range files {
		path := filepath.Join(home, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if to, is := strings.CutPrefix(text, "-> "); is {
			err = os.Symlink(to, path)
		} else {
			inJSON := strings.ReplaceAll(home, `\`, `\\`)
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOME", inJSON)), 0o600)
		}
		testkit.Must(t, err)
	}
	find := func(p Place, h Host) (paths []string) {
		for _, at := range p.LocateAll(h) {
			pattern := at.File
			if at.File == "" {
				pattern = filepath.Join(at.Dir, at.Pattern)
			}
			found, _ := filepath.Glob(pattern)
			paths = append(paths, found...)
		}
		return paths
	}
	return Host{OS: "linux", Home: home, Project: filepath.Join(home, "project"), Repo: -1, Env: func(string) string { return "" }},
		PluginLook{Read: os.ReadFile, Find: find, Real: filepath.EvalSymlinks}
}

type findCase struct {
	client string
	files  map[string]string
	want   string
}

func (c findCase) run(t *testing.T) {
	host, look := newLook(t, c.files)
	client := testkit.Get(ByName(c.client))(t)
	var got []string
	for _, p := range FindPlugins(client, host, look) {
		text := strings.TrimSpace(p.ID + " " + p.Version)
		if p.Off != "" {
			text += " off"
		}
		if strings.Contains(c.want, "HOME") {
			text += " " + filepath.ToSlash(strings.Replace(p.Root, host.Home, "HOME", 1))
		}
		text += ":"
		for _, f := range p.Files {
			text += fmt.Sprintf(" %s[%s]", filepath.Base(f.Path), strings.Join(f.Place.Tables[0].Path, "."))
		}
		for _, n := range p.Named {
			text += " (" + n.Why + ")"
		}
		got = append(got, text)
	}
	testkit.Equal(t, "", strings.Join(got, "; "), c.want)
}

// TestFindLink: a link that leads out of a plugin's folder is named, also one to a folder whose name begins like the
// plugin's.
func TestFindLink(t *testing.T) {
	const list = `{"plugins": {"p@m": {"version": "1", "installPath": "HOME/r"}}}`
	for _, to := range []string{".x.json", "r2/x.json"} {
		findCase{"claude-code", map[string]string{".claude/plugins/installed_plugins.json": list, "r/.mcp.json": "-> ../" + to, to: "{}"},
			"p@m 1: (it is a link that leads out of the folder of the plugin: write its servers into a file there)"}.run(t)
	}
}

// TestFind: which plugins a client has, which are off, and where their servers are.
func TestFind(t *testing.T) {
	const (
		cache  = ".claude/plugins/cache/m/p/1/"
		list   = ".claude/plugins/installed_plugins.json"
		root   = "HOME/.claude/plugins/cache/m/p/1"
		v2     = `{"version": 2, "plugins": {"p@m": [{"scope": "user", "version": "1", "installPath": "` + root + `"}]}}`
		market = ".claude/plugins/known_marketplaces.json"
		isDir  = `{"m": {"source": {"source": "directory", "path": "HOME/mk"}, "installLocation": "HOME/mk"}}`
		gemini = ".gemini/extensions/"
	)
	for name, c := range map[string]findCase{
		"version 2":        {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"version 1":        {"claude-code", map[string]string{list: `{"plugins": {"p@m": {"version": "1", "installPath": "` + root + `"}}}`, cache + ".mcp.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"no list":          {"claude-code", map[string]string{cache + ".mcp.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"an older version": {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", ".claude/plugins/cache/m/p/0/.mcp.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"switched off":     {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", ".claude/settings.json": `{"enabledPlugins": {"p@m": false}}`}, "p@m 1 off: .mcp.json[mcpServers]"},
		"switched on":      {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", ".claude/settings.json": `{"enabledPlugins": {"p@m": true}}`}, "p@m 1: .mcp.json[mcpServers]"},
		"off for the user, on in the project": {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", ".claude/settings.json": `{"enabledPlugins": {"p@m": false}}`,
			"project/.claude/settings.local.json": `{"enabledPlugins": {"p@m": true}}`}, "p@m 1: .mcp.json[mcpServers]"},
		"off in the project":    {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", "project/.claude/settings.json": `{"enabledPlugins": {"p@m": false}}`}, "p@m 1: .mcp.json[mcpServers]"},
		"another client's file": {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", cache + "mcp.json": "{}", cache + ".claude-plugin/plugin.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"in the general form":   {"claude-code", map[string]string{list: v2, cache + "mcp.json": "{}", cache + "plugin.json": "{}"}, "p@m 1: mcp.json[mcpServers]"},
		"a project's list":      {"claude-code", map[string]string{"project/.claude/plugins/installed_plugins.json": `{"plugins": {"p@m": {"installPath": "HOME/x"}}}`, "x/.mcp.json": "{}"}, ""},
		"off for the user, installed for a project": {"claude-code", map[string]string{list: strings.Replace(v2, `"user"`, `"project"`, 1), cache + ".mcp.json": "{}",
			".claude/settings.json": `{"enabledPlugins": {"p@m": false}}`}, "p@m 1: .mcp.json[mcpServers]"},
		"in the manifest":  {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": {"a": {}}}`}, "p@m 1: plugin.json[mcpServers]"},
		"a file of it":     {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": "./x/s.json"}`, cache + "x/s.json": "{}"}, "p@m 1: s.json[mcpServers]"},
		"a list":           {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": ["./s.json", {"a": {}}]}`, cache + "s.json": "{}"}, "p@m 1: s.json[mcpServers] plugin.json[mcpServers.1]"},
		"not JSON":         {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": `}, "p@m 1: (the manifest cannot be read, so mcp-jail does not know which servers are in it)"},
		"too deep":         {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": strings.Repeat("[", 20000) + strings.Repeat("]", 20000)}, "p@m 1: (the manifest cannot be read, so mcp-jail does not know which servers are in it)"},
		"a missing file":   {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": "./s.json"}`}, "p@m 1: (the manifest names it, and it cannot be read)"},
		"a file outside":   {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": "../../s.json"}`, ".claude/plugins/cache/m/s.json": "{}"}, "p@m 1: (the path leads out of the folder of the plugin)"},
		"a bundle":         {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"mcpServers": "./s.mcpb"}`}, "p@m 1: (it is a bundle, which Claude Code unpacks itself: start its server by an entry of your own, and switch off the plugin)"},
		"no server":        {"claude-code", map[string]string{list: v2, cache + ".claude-plugin/plugin.json": `{"skills": []}`}, ""},
		"in its directory": {"claude-code", map[string]string{list: v2, cache + ".mcp.json": "{}", market: isDir, "mk/.claude-plugin/marketplace.json": `{"plugins": [{"name": "p", "source": "./x"}]}`, "mk/x/.mcp.json": "{}"}, "p@m 1 HOME/mk/x: .mcp.json[mcpServers]"},
		"of the marketplace's list": {"claude-code", map[string]string{list: v2, market: isDir,
			"mk/.claude-plugin/marketplace.json": `{"plugins": [{}, {"name": "p", "source": "./x", "strict": false, "mcpServers": {"a": {}}}]}`, "mk/x/.claude-plugin/plugin.json": "{}"}, "p@m 1 HOME/mk/x: marketplace.json[plugins.1.mcpServers]"},
		"not of the list": {"claude-code", map[string]string{list: v2, market: isDir,
			"mk/.claude-plugin/marketplace.json": `{"plugins": [{"name": "p", "source": "./x", "mcpServers": {"a": {}}}]}`, "mk/x/.claude-plugin/plugin.json": "{}"}, ""},
		"a marketplace's source outside": {"claude-code", map[string]string{list: v2, market: isDir, cache + ".mcp.json": "{}", "mk/.claude-plugin/marketplace.json": `{"plugins": [{"name": "p", "source": "../x"}]}`, "x/.mcp.json": "{}"}, "p@m 1 " + root + ": .mcp.json[mcpServers]"},
		"a marketplace's root outside":   {"claude-code", map[string]string{list: v2, market: isDir, cache + ".mcp.json": "{}", "mk/.claude-plugin/marketplace.json": `{"metadata": {"pluginRoot": "../y"}, "plugins": [{"name": "p", "source": "x"}]}`, "y/x/.mcp.json": "{}"}, "p@m 1 " + root + ": .mcp.json[mcpServers]"},
		"a marketplace's root":           {"claude-code", map[string]string{list: v2, market: isDir, cache + ".mcp.json": "{}", "mk/.claude-plugin/marketplace.json": `{"metadata": {"pluginRoot": "./y"}, "plugins": [{"name": "p", "source": "x"}]}`, "mk/y/x/.mcp.json": "{}"}, "p@m 1 HOME/mk/y/x: .mcp.json[mcpServers]"},
		"a marketplace that was fetched": {"claude-code", map[string]string{list: v2, market: strings.Replace(isDir, `"directory"`, `"github"`, 1), cache + ".mcp.json": "{}", "mk/.claude-plugin/marketplace.json": `{"plugins": [{"name": "p", "source": "./x"}]}`, "mk/x/.mcp.json": "{}"}, "p@m 1 " + root + ": .mcp.json[mcpServers]"},
		"for two projects":               {"claude-code", map[string]string{list: `{"plugins": {"p@m": [{"scope": "project", "version": "1", "installPath": "` + root + `"}, {"scope": "project", "version": "1", "installPath": "` + root + `"}]}}`, cache + ".mcp.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"an extension":                   {"gemini", map[string]string{gemini + "e/gemini-extension.json": `{"name": "E", "version": "3", "mcpServers": {}}`}, "E 3: gemini-extension.json[mcpServers]"},
		"a linked extension": {"gemini", map[string]string{gemini + "e/.gemini-extension-install.json": `{"type": "link", "source": "HOME/dev"}`, "dev/gemini-extension.json": `{"name": "E", "mcpServers": {}}`},
			"E HOME/dev: gemini-extension.json[mcpServers]"},
		"a linked extension without a path": {"gemini", map[string]string{gemini + "e/.gemini-extension-install.json": `{"type": "link", "source": "dev"}`, gemini + "e/gemini-extension.json": `{"name": "E", "mcpServers": {}}`}, "E HOME/.gemini/extensions/e: gemini-extension.json[mcpServers]"},
		"off, and on in the home alone":     {"gemini", map[string]string{gemini + "e/gemini-extension.json": `{"name": "E", "mcpServers": {}}`, gemini + "extension-enablement.json": `{"E": {"overrides": ["!/*", "HOME/"]}}`}, "E off: gemini-extension.json[mcpServers]"},
		"off, and on in this very place":    {"gemini", map[string]string{gemini + "e/gemini-extension.json": `{"name": "E", "mcpServers": {}}`, gemini + "extension-enablement.json": `{"E": {"overrides": ["!/*", "HOME/project"]}}`}, "E: gemini-extension.json[mcpServers]"},
		"an extension that is off":          {"gemini", map[string]string{gemini + "e/gemini-extension.json": `{"name": "E", "mcpServers": {}}`, gemini + "extension-enablement.json": `{"E": {"overrides": ["!/*"]}}`}, "E off: gemini-extension.json[mcpServers]"},
		"off, and on here":                  {"gemini", map[string]string{gemini + "e/gemini-extension.json": `{"name": "E", "mcpServers": {}}`, gemini + "extension-enablement.json": `{"E": {"overrides": ["!/*", "HOME/project/*"]}}`}, "E: gemini-extension.json[mcpServers]"},
		"of Qwen":                           {"qwen", map[string]string{".qwen/extensions/e/qwen-extension.json": `{"name": "E", "mcpServers": {}}`}, "E: qwen-extension.json[mcpServers]"},
		"of Codex":                          {"codex", map[string]string{".codex/plugins/cache/m/p/1/.codex-plugin/plugin.json": `{"mcpServers": "./.mcp.json"}`, ".codex/plugins/cache/m/p/1/.mcp.json": "{}"}, "p@m 1: .mcp.json[mcpServers]"},
		"of Copilot":                        {"copilot", map[string]string{".copilot/installed-plugins/m/p/.mcp.json": "{}"}, "p: .mcp.json[mcpServers]"},
		"of Cursor":                         {"cursor", map[string]string{".cursor/plugins/local/p/mcp.json": "{}"}, "p: mcp.json[mcpServers]"},
		"a bundle's":                        {"claude-desktop", map[string]string{".config/Claude/Claude Extensions/e/manifest.json": `{"version": "2", "server": {"mcp_config": {"command": "node"}}}`}, "e 2: manifest.json[server.mcp_config]"},
		"a bundle's, off": {"claude-desktop", map[string]string{".config/Claude/Claude Extensions/e/manifest.json": `{"server": {"mcp_config": {"command": "node"}}}`,
			".config/Claude/Claude Extensions Settings/e.json": `{"isEnabled": false}`}, "e off: manifest.json[server.mcp_config]"},
		"a bundle's, by system": {"claude-desktop", map[string]string{".config/Claude/Claude Extensions/e/manifest.json": `{"server": {"mcp_config": {"command": "node", "platform_overrides": {"linux": {"command": "x"}}}}}`},
			"e: (its manifest has another command for this system in platform_overrides: move that to command and args)"},
		"a bundle's, with arguments by system": {"claude-desktop", map[string]string{".config/Claude/Claude Extensions/e/manifest.json": `{"server": {"mcp_config": {"command": "node", "platform_overrides": {"linux": {"args": ["x"]}}}}}`},
			"e: (its manifest has another command for this system in platform_overrides: move that to command and args)"},
		"a bundle's, of another system": {"claude-desktop", map[string]string{".config/Claude/Claude Extensions/e/manifest.json": `{"server": {"mcp_config": {"command": "node", "platform_overrides": {"win32": {"command": "x"}}}}}`},
			"e: manifest.json[server.mcp_config]"},
	} {
		t.Run(name, c.run)
	}
}

// TestReader: the variables of a plugin's folders are known.
func TestReader(t *testing.T) {
	host, look := newLook(t, map[string]string{
		".claude/plugins/installed_plugins.json": `{"plugins": {"p@m": {"installPath": "HOME/r"}}}`, "r/.mcp.json": "{}",
	})
	c, _ := ByName("claude-code")
	p := FindPlugins(c, host, look)[0]
	r := p.Reader(c)
	if filepath.Clean(r.Known["CLAUDE_PLUGIN_ROOT"]) != filepath.Join(host.Home, "r") || r.Known["CLAUDE_PLUGIN_DATA"] != filepath.Join(host.Home, ".claude/plugins/data/p-m") || c.Known != nil {
		t.Errorf("%v", slices.Sorted(maps.Values(r.Known)))
	}
}
