package clients

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Plugin is what brings servers to a client.
type Plugin struct {
	Kind    string       // "plugin", "extension"
	ID      string       // as the client calls it
	Version string       // "" if it is not known
	Root    string       // its folder
	Off     string       // the file that switches it off; "" if none does
	Files   []pluginFile // with its servers
	Named   []namedPlugin

	brings brings
	data   string
	kept   []string // directories with it and other plugins
}

// pluginFile is a file with servers of a plugin.
type pluginFile struct {
	Path  string
	Place Place
}

// namedPlugin is a server of a plugin that is in no file in which it could be wrapped.
type namedPlugin struct {
	What string
	Why  string // it completes "it is not jailed: …"
}

// PluginLook is how the package sees the files of a host.
type PluginLook struct {
	Read func(path string) ([]byte, error)
	Find func(Place, Host) []string        // what exists there
	Real func(path string) (string, error) // the path without links
}

// Title returns the words that name a plugin.
func (p *Plugin) Title() string {
	text := "the " + p.Kind + " " + p.ID
	if p.Version != "" && p.Version != "unknown" {
		text += " " + p.Version
	}
	return text
}

// Reader returns the client as it reads the files of the plugin: with the variables of its folders.
func (p *Plugin) Reader(c Client) Client {
	known := map[string]string{"/": "/", "pathSeparator": "/"}
	for _, name := range p.brings.RootAs {
		known[name] = p.Root
	}
	if p.brings.DataAs != "" && p.data != "" {
		known[p.brings.DataAs] = p.data
	}
	return c.withKnown(p.brings.Forms, known)
}

// FindPlugins returns the plugins of a client, those that bring no server left out.
func FindPlugins(c Client, host Host, look PluginLook) (all []*Plugin) {
	for _, b := range c.Brings {
		f := finder{c, b, host, look}
		switch c.Name {
		case "claude-code":
			all = append(all, f.claude()...)
		default:
			all = append(all, f.folders()...)
		}
	}
	return slices.DeleteFunc(all, func(p *Plugin) bool { return len(p.Files) == 0 && len(p.Named) == 0 })
}

type finder struct {
	client Client
	brings brings
	host   Host
	look   PluginLook
}

func (f finder) table(path string) map[string]any {
	text, err := f.look.Read(path)
	if err != nil {
		return nil
	}
	var table map[string]any
	if json.Unmarshal(text, &table) != nil {
		return nil
	}
	return table
}

// list returns the first list of the client that exists and has a name.
func (f finder) list(name string) (path string, table map[string]any) {
	for _, place := range f.brings.Lists {
		for _, at := range f.look.Find(place, f.host) {
			if filepath.Base(at) == name {
				return at, f.table(at)
			}
		}
	}
	return "", nil
}

// folders finds the plugins of a client whose folders are all in one directory.
func (f finder) folders() (all []*Plugin) {
	for _, dir := range f.look.Find(f.brings.Root, f.host) {
		p := f.plugin(filepath.Base(dir), dir)
		if strings.Count(f.brings.Root.Linux, "*") > 2 { // MARKETPLACE/NAME/VERSION
			p.ID, p.Version = filepath.Base(filepath.Dir(dir))+"@"+filepath.Base(filepath.Dir(filepath.Dir(dir))), filepath.Base(dir)
		}
		f.gemini(p)
		f.desktop(p)
		f.readFolder(p)
		all = append(all, p)
	}
	return all
}

func (f finder) plugin(id, root string) *Plugin {
	p := &Plugin{Kind: f.brings.Kind, ID: id, Root: root, brings: f.brings}
	for _, at := range f.brings.Root.LocateAll(f.host) {
		p.kept = append(p.kept, at.Dir)
	}
	return p
}

// readFolder finds the files of a plugin that have servers.
func (f finder) readFolder(p *Plugin) {
	_, own := f.inside(p, ".claude-plugin/plugin.json")
	for _, name := range f.brings.Files {
		// A plugin in the form of another client has a file of that client beside it.
		if name != "mcp.json" || !own || f.client.Name != "claude-code" {
			f.addFile(p, name, true)
		}
	}
	for _, name := range f.brings.Manifests {
		path, ok := f.inside(p, name)
		if !ok {
			continue
		}
		manifest := f.table(path)
		if version, is := manifest["version"].(string); is && p.Version == "" {
			p.Version = version
		}
		if manifest == nil {
			p.Named = append(p.Named, namedPlugin{path, "the manifest cannot be read, so mcp-jail does not know which servers are in it"})
		}
		f.addManifest(p, path, manifest)
		return
	}
}

// inside returns the path of a file of a plugin's folder, if it exists and is no link that leads out of it.
func (f finder) inside(p *Plugin, name string) (string, bool) {
	path := filepath.Join(p.Root, filepath.FromSlash(name))
	real, err := f.look.Real(path)
	if err != nil {
		return "", false
	}
	root, err := f.look.Real(p.Root)
	if err == nil && strings.HasPrefix(real, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator)) {
		return path, true
	}
	p.name(path, "it is a link that leads out of the folder of the "+p.Kind+": write its servers into a file there")
	return "", false
}

func (p *Plugin) name(what, why string) {
	if n := (namedPlugin{what, why}); !slices.Contains(p.Named, n) {
		p.Named = append(p.Named, n)
	}
}

func (f finder) place(tables ...Table) Place {
	return Place{Scope: User, Linux: "~/.", Format: JSON, Tables: tables}
}

// addFile adds a file that has a table of servers, or is one.
func (f finder) addFile(p *Plugin, name string, optional bool) {
	path, ok := f.inside(p, name)
	switch {
	case ok && !slices.ContainsFunc(p.Files, func(o pluginFile) bool { return o.Path == path }):
		place := f.place(Table{Path: []string{"mcpServers"}})
		place.Bare = true
		p.Files = append(p.Files, pluginFile{path, place})
	case !ok && !optional && len(p.Named) == 0:
		p.Named = append(p.Named, namedPlugin{filepath.Join(p.Root, name), "the manifest names it, and it cannot be read"})
	}
}

// addManifest adds the servers that are in a manifest, and the files that it names.
func (f finder) addManifest(p *Plugin, path string, manifest map[string]any) {
	at := f.brings.At
	var value any = manifest
	for _, key := range at {
		table, _ := value.(map[string]any)
		value = table[key]
	}
	if f.brings.Single {
		f.addSingle(p, path, manifest, value)
		return
	}
	if tables := f.servers(p, at, value); len(tables) > 0 {
		p.Files = append(p.Files, pluginFile{path, f.place(tables...)})
	}
}

// servers returns the tables at a key of a manifest, and adds the files that the key names.
func (f finder) servers(p *Plugin, at []string, value any) (tables []Table) {
	switch v := value.(type) {
	case map[string]any:
		return []Table{{Path: at}}
	case string:
		switch clean := filepath.FromSlash(strings.TrimPrefix(v, "./")); {
		case strings.Contains(v, "://"), strings.HasSuffix(v, ".mcpb"), strings.HasSuffix(v, ".dxt"):
			p.Named = append(p.Named, namedPlugin{v, "it is a bundle, which " + f.client.Title + " unpacks itself: start its server by an entry of your own, and switch off the " + p.Kind})
		case !filepath.IsLocal(clean):
			p.Named = append(p.Named, namedPlugin{v, "the path leads out of the folder of the " + p.Kind})
		default:
			f.addFile(p, clean, false)
		}
	case []any:
		for i, one := range v {
			tables = append(tables, f.servers(p, append(slices.Clone(at), strconv.Itoa(i)), one)...)
		}
	}
	return tables
}

// brings is how a client finds the folders of its plugins, and the servers that they bring.
// Package clients reads the folders.
type brings struct {
	Kind      string   // what the client calls one: "plugin", "extension"
	Root      Place    // a pattern of the folders; only its paths count
	Lists     []Place  // files that say which folders count, and which are switched off
	Manifests []string // in a folder; the first that exists counts
	At        []string // the keys of the servers in the manifest
	Single    bool     // what is at At is one entry
	Files     []string // more files of a folder that have servers
	RootAs    []string // the variables for the folder
	DataAs    string   // the variable for a folder that the plugin may write to
	Forms     []form   // variables of the folder's files, beside those of Client
}

// withKnown returns the client for files in which it replaces more variables, by values that are known.
func (c Client) withKnown(forms []form, known map[string]string) Client {
	c.Forms = append(append([]form{}, forms...), c.Forms...)
	c.Known = maps.Clone(known)
	return c
}

func inBraces() []form { return []form{named(FromEnv, "${", "}")} }

// claudePlugins are the plugins of Claude Code. Others read folders of the same form.
func claudePlugins() brings {
	root := everywhere(User, "~/.claude/plugins/cache/*/*/*", "", nil).moved("CLAUDE_CONFIG_DIR", "plugins/cache/*/*/*")
	list := func(file string) Place {
		return everywhere(User, "~/.claude/"+file, "", nil).moved("CLAUDE_CONFIG_DIR", file)
	}
	return brings{
		Kind: "plugin", Root: root,
		Lists: []Place{
			list("plugins/installed_plugins.json"), list("plugins/known_marketplaces.json"), list("settings.json"),
			above(everywhere(Project, ".claude/settings.json", "", nil), inRepository), above(everywhere(Project, ".claude/settings.local.json", "", nil), inRepository),
		},
		Manifests: []string{".claude-plugin/plugin.json", "plugin.json"}, At: []string{"mcpServers"},
		Files:  []string{".mcp.json", "mcp.json"},
		RootAs: []string{"CLAUDE_PLUGIN_ROOT"}, DataAs: "CLAUDE_PLUGIN_DATA",
	}
}

func codexPlugins() brings {
	root := everywhere(User, "~/.codex/plugins/cache/*/*/*", "", nil).moved("CODEX_HOME", "plugins/cache/*/*/*")
	return brings{
		Kind: "plugin", Root: root,
		Manifests: []string{".codex-plugin/plugin.json", ".claude-plugin/plugin.json"}, At: []string{"mcpServers"},
		Files: []string{".mcp.json"},
	}
}

func copilotPlugins() brings {
	root := everywhere(User, "~/.copilot/installed-plugins/*/*", "", nil).moved("COPILOT_HOME", "installed-plugins/*/*")
	return brings{
		Kind: "plugin", Root: root,
		Manifests: []string{"plugin.json", ".plugin/plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json"}, At: []string{"mcpServers"},
		Files:  []string{".mcp.json", ".github/mcp.json"},
		RootAs: []string{"CLAUDE_PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "PLUGIN_ROOT"},
	}
}

func cursorPlugins() []brings {
	var all []brings
	for _, pattern := range []string{"~/.cursor/plugins/local/*", "~/.cursor/plugins/cache/*/*/*"} {
		all = append(all, brings{
			Kind: "plugin", Root: everywhere(User, pattern, "", nil),
			Manifests: []string{".cursor-plugin/plugin.json", ".claude-plugin/plugin.json"}, At: []string{"mcpServers"},
			Files:  []string{"mcp.json", ".mcp.json"},
			RootAs: []string{"CURSOR_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"}, Forms: inBraces(),
		})
	}
	return all
}

// geminiExtensions are the extensions of Gemini CLI and of its relatives.
func geminiExtensions(dir, variable, below, manifest string, files ...string) brings {
	at := func(rest string) Place {
		return everywhere(User, "~/"+dir+"/extensions/"+rest, "", nil).moved(variable, below+"extensions/"+rest)
	}
	return brings{
		Kind: "extension", Root: at("*"), Lists: []Place{at("extension-enablement.json")},
		Manifests: []string{manifest}, At: []string{"mcpServers"}, Files: files,
		RootAs: []string{"extensionPath", "CLAUDE_PLUGIN_ROOT"},
	}
}

func desktopExtensions() brings {
	at := func(rest string) Place {
		return Place{
			Scope: User, Linux: "$XDG_CONFIG_HOME/Claude/" + rest,
			MacOS:   "~/Library/Application Support/Claude/" + rest,
			Windows: `%APPDATA%\Claude\` + strings.ReplaceAll(rest, "/", `\`),
		}
	}
	return brings{
		Kind: "extension", Root: at("Claude Extensions/*"), Lists: []Place{at("Claude Extensions Settings/*.json")},
		Manifests: []string{"manifest.json"}, At: []string{"server", "mcp_config"}, Single: true,
		RootAs: []string{"__dirname"}, Forms: append(inBraces(), named(Input, "${user_config.", "}")),
	}
}
