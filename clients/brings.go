package clients

import (
	"maps"
	"slices"
	"strings"
)

// Brings is how a client finds the folders of its plugins, and the servers that they bring.
// Package clients/plugins reads the folders.
type Brings struct {
	Kind      string   // what the client calls one: "plugin", "extension"
	Root      Place    // a pattern of the folders; only its paths count
	Lists     []Place  // files that say which folders count, and which are switched off
	Manifests []string // in a folder; the first that exists counts
	At        []string // the keys of the servers in the manifest
	Single    bool     // what is at At is one entry
	Files     []string // more files of a folder that have servers
	RootAs    []string // the variables for the folder
	DataAs    string   // the variable for a folder that the plugin may write to
	Sets      bool     // a server has those variables in its environment, too
	Forms     []Form   // variables of the folder's files, beside those of Client
}

// WithKnown returns the client for files in which it replaces more variables, by values that are known.
func (c Client) WithKnown(forms []Form, known map[string]string) Client {
	c.Forms = append(append([]Form{}, forms...), c.Forms...)
	c.Known = maps.Clone(known)
	return c
}

// Names reports whether a text has a variable with one of some names.
func (c Client) Names(text string, names ...string) bool {
	return slices.ContainsFunc(c.References(text), func(r Reference) bool { return slices.Contains(names, r.Name) })
}

func inBraces() []Form { return []Form{named(FromEnv, "${", "}")} }

// claudePlugins are the plugins of Claude Code. Others read folders of the same form.
func claudePlugins() Brings {
	root := everywhere(User, "~/.claude/plugins/cache/*/*/*", "", nil).moved("CLAUDE_CONFIG_DIR", "plugins/cache/*/*/*")
	list := func(file string) Place {
		return everywhere(User, "~/.claude/"+file, "", nil).moved("CLAUDE_CONFIG_DIR", file)
	}
	return Brings{
		Kind: "plugin", Root: root,
		Lists: []Place{
			list("plugins/installed_plugins.json"), list("plugins/known_marketplaces.json"), list("settings.json"),
			above(everywhere(Project, ".claude/settings.json", "", nil), InRepository), above(everywhere(Project, ".claude/settings.local.json", "", nil), InRepository),
		},
		Manifests: []string{".claude-plugin/plugin.json", "plugin.json"}, At: []string{"mcpServers"},
		Files:  []string{".mcp.json", "mcp.json"},
		RootAs: []string{"CLAUDE_PLUGIN_ROOT"}, DataAs: "CLAUDE_PLUGIN_DATA", Sets: true,
	}
}

func codexPlugins() Brings {
	root := everywhere(User, "~/.codex/plugins/cache/*/*/*", "", nil).moved("CODEX_HOME", "plugins/cache/*/*/*")
	return Brings{
		Kind: "plugin", Root: root,
		Manifests: []string{".codex-plugin/plugin.json", ".claude-plugin/plugin.json"}, At: []string{"mcpServers"},
		Files: []string{".mcp.json"},
	}
}

func copilotPlugins() Brings {
	root := everywhere(User, "~/.copilot/installed-plugins/*/*", "", nil).moved("COPILOT_HOME", "installed-plugins/*/*")
	return Brings{
		Kind: "plugin", Root: root,
		Manifests: []string{"plugin.json", ".plugin/plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json"}, At: []string{"mcpServers"},
		Files:  []string{".mcp.json", ".github/mcp.json"},
		RootAs: []string{"CLAUDE_PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "PLUGIN_ROOT"}, Sets: true,
	}
}

func cursorPlugins() []Brings {
	var all []Brings
	for _, pattern := range []string{"~/.cursor/plugins/local/*", "~/.cursor/plugins/cache/*/*/*"} {
		all = append(all, Brings{
			Kind: "plugin", Root: everywhere(User, pattern, "", nil),
			Manifests: []string{".cursor-plugin/plugin.json", ".claude-plugin/plugin.json"}, At: []string{"mcpServers"},
			Files:  []string{"mcp.json", ".mcp.json"},
			RootAs: []string{"CURSOR_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"}, Sets: true, Forms: inBraces(),
		})
	}
	return all
}

// geminiExtensions are the extensions of Gemini CLI and of its relatives.
func geminiExtensions(dir, variable, below, manifest string, files ...string) Brings {
	at := func(rest string) Place {
		return everywhere(User, "~/"+dir+"/extensions/"+rest, "", nil).moved(variable, below+"extensions/"+rest)
	}
	return Brings{
		Kind: "extension", Root: at("*"), Lists: []Place{at("extension-enablement.json")},
		Manifests: []string{manifest}, At: []string{"mcpServers"}, Files: files,
		RootAs: []string{"extensionPath", "CLAUDE_PLUGIN_ROOT"},
	}
}

func desktopExtensions() Brings {
	at := func(rest string) Place {
		return Place{
			Scope: User, Linux: "$XDG_CONFIG_HOME/Claude/" + rest,
			MacOS:   "~/Library/Application Support/Claude/" + rest,
			Windows: `%APPDATA%\Claude\` + strings.ReplaceAll(rest, "/", `\`),
		}
	}
	return Brings{
		Kind: "extension", Root: at("Claude Extensions/*"), Lists: []Place{at("Claude Extensions Settings/*.json")},
		Manifests: []string{"manifest.json"}, At: []string{"server", "mcp_config"}, Single: true,
		RootAs: []string{"__dirname"}, Forms: append(inBraces(), named(Input, "${user_config.", "}")),
	}
}
