package plugins

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
)

// Plugin is what brings servers to a client.
type Plugin struct {
	Client  string // the client's Name
	Kind    string // "plugin", "extension"
	ID      string // as the client calls it
	Version string // "" if it is not known
	Root    string // its folder
	Off     string // the file that switches it off; "" if none does
	List    string // the file that says which folder counts, or ""
	Files   []File // with its servers
	Named   []Named

	brings clients.Brings
	data   string
	kept   []string // directories with it and other plugins
}

// File is a file with servers of a plugin.
type File struct {
	Path  string
	Place clients.Place
}

// Named is a server of a plugin that is in no file in which it could be wrapped.
type Named struct {
	What string
	Why  string // it completes "it is not jailed: …"
}

// Look is how the package sees the files of a host.
type Look struct {
	Read func(path string) ([]byte, error)
	Find func(clients.Place, clients.Host) []string // what exists there
	Real func(path string) (string, error)          // the path without links
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
func (p *Plugin) Reader(c clients.Client) clients.Client {
	known := map[string]string{"/": "/", "pathSeparator": "/"}
	for _, name := range p.brings.RootAs {
		known[name] = p.Root
	}
	if p.brings.DataAs != "" && p.data != "" {
		known[p.brings.DataAs] = p.data
	}
	return c.WithKnown(p.brings.Forms, known)
}

// Brought returns the directories whose files the plugin's author may have written, or its servers:
// its folder, the one that it may write to, and where the client keeps what plugins bring.
func (p *Plugin) Brought() []string {
	dirs := append([]string{p.Root}, p.kept...)
	if p.data != "" {
		dirs = append(dirs, p.data)
	}
	return dirs
}

// Sets reports whether the variables of the plugin's folders are in the environment of its servers.
func (p *Plugin) Sets() bool { return p.brings.Sets }

// Variables returns the variables of the plugin's folders that the words of an entry have: for the
// folder itself, and for the one that it may write to. One of them is set for the server as well.
func (p *Plugin) Variables(c clients.Client, words []string) (root, data string) {
	uses := func(name string) bool {
		return name != "" && slices.ContainsFunc(words, func(w string) bool { return c.Names(w, name) })
	}
	for _, name := range p.brings.RootAs {
		if root == "" && uses(name) {
			root = name
		}
	}
	// Code of the plugin can find the folder by its variable, without a word of the entry.
	if p.data != "" && (root != "" || uses(p.brings.DataAs)) {
		data = p.brings.DataAs
	}
	return root, data
}

// Find returns the plugins of a client, those that bring no server left out.
func Find(c clients.Client, host clients.Host, look Look) (all []*Plugin) {
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
	client clients.Client
	brings clients.Brings
	host   clients.Host
	look   Look
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
	p := &Plugin{Client: f.client.Name, Kind: f.brings.Kind, ID: id, Root: root, brings: f.brings}
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
			p.Named = append(p.Named, Named{path, "the manifest cannot be read, so mcp-jail does not know which servers are in it"})
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
	if n := (Named{what, why}); !slices.Contains(p.Named, n) {
		p.Named = append(p.Named, n)
	}
}

func (f finder) place(tables ...clients.Table) clients.Place {
	return clients.Place{Scope: clients.User, Label: f.brings.Kind, Linux: "~/.", Format: clients.JSON, Tables: tables}
}

// addFile adds a file that has a table of servers, or is one.
func (f finder) addFile(p *Plugin, name string, optional bool) {
	path, ok := f.inside(p, name)
	switch {
	case ok && !slices.ContainsFunc(p.Files, func(o File) bool { return o.Path == path }):
		place := f.place(clients.Table{Path: []string{"mcpServers"}})
		place.Bare = true
		p.Files = append(p.Files, File{path, place})
	case !ok && !optional && len(p.Named) == 0:
		p.Named = append(p.Named, Named{filepath.Join(p.Root, name), "the manifest names it, and it cannot be read"})
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
		p.Files = append(p.Files, File{path, f.place(tables...)})
	}
}

// servers returns the tables at a key of a manifest, and adds the files that the key names.
func (f finder) servers(p *Plugin, at []string, value any) (tables []clients.Table) {
	switch v := value.(type) {
	case map[string]any:
		return []clients.Table{{Path: at}}
	case string:
		switch clean := filepath.FromSlash(strings.TrimPrefix(v, "./")); {
		case strings.Contains(v, "://"), strings.HasSuffix(v, ".mcpb"), strings.HasSuffix(v, ".dxt"):
			p.Named = append(p.Named, Named{v, "it is a bundle, which " + f.client.Title + " unpacks itself: start its server by an entry of your own, and switch off the " + p.Kind})
		case !filepath.IsLocal(clean):
			p.Named = append(p.Named, Named{v, "the path leads out of the folder of the " + p.Kind})
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
