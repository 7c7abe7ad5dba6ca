package clients

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// claude finds the plugins of Claude Code. Its list has, by the name of a plugin, one installation
// (version 1) or several (version 2). Without a list, the folders of the cache count.
func (f finder) claude() (all []*Plugin) {
	path, list := f.list("installed_plugins.json")
	installed, _ := list["plugins"].(map[string]any)
	if installed == nil {
		return f.folders()
	}
	_, markets := f.list("known_marketplaces.json")
	off := f.switchedOff()
	for _, id := range slices.Sorted(maps.Keys(installed)) {
		installations, several := installed[id].([]any)
		if !several {
			installations = []any{installed[id]}
		}
		var roots []string
		for _, one := range installations {
			installation, _ := one.(map[string]any)
			root, _ := installation["installPath"].(string)
			p := f.plugin(id, root)
			p.Version, _ = installation["version"].(string)
			p.kept = append(p.kept, filepath.Dir(path))
			if scope, _ := installation["scope"].(string); scope == "user" || scope == "" {
				p.Off = off[id]
			}
			f.inMarket(p, markets)
			if !filepath.IsAbs(p.Root) || slices.Contains(roots, p.Root) {
				continue
			}
			roots = append(roots, p.Root)
			p.data = filepath.Join(filepath.Dir(path), "data", dataName(id))
			f.readFolder(p)
			all = append(all, p)
		}
	}
	return all
}

// switchedOff returns the plugins that the user's settings switch off, with the file of the settings. The
// settings of a project can switch one on again, and nothing else here follows from them.
func (f finder) switchedOff() map[string]string {
	off, on := map[string]string{}, map[string]bool{}
	for _, place := range f.brings.Lists {
		for _, path := range f.look.Find(place, f.host) {
			enabled, _ := f.table(path)["enabledPlugins"].(map[string]any)
			for id, value := range enabled {
				if value == false && place.Scope == User {
					off[id] = path
				}
				on[id] = on[id] || value == true
			}
		}
	}
	maps.DeleteFunc(off, func(id, _ string) bool { return on[id] })
	return off
}

// dataName is the name of the folder to which a plugin may write.
func dataName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '@' || r == '/' || r == '\\' {
			return '-'
		}
		return r
	}, id)
}

// inMarket looks at the marketplace of a plugin. One that is a directory has the plugin that counts, and
// its own list may have servers of the plugin.
func (f finder) inMarket(p *Plugin, markets map[string]any) {
	name, market, _ := strings.Cut(p.ID, "@")
	known, _ := markets[market].(map[string]any)
	dir, _ := known["installLocation"].(string)
	if !filepath.IsAbs(dir) {
		return
	}
	source, _ := known["source"].(map[string]any)
	list := filepath.Join(dir, ".claude-plugin", "marketplace.json")
	if source["source"] == "file" && strings.HasSuffix(dir, ".json") {
		list, dir = dir, filepath.Dir(filepath.Dir(dir))
	}
	p.kept = append(p.kept, dir)
	described := f.table(list)
	offered, _ := described["plugins"].([]any)
	for i, one := range offered {
		entry, _ := one.(map[string]any)
		if entry["name"] != name {
			continue
		}
		meta, _ := described["metadata"].(map[string]any)
		base, _ := meta["pluginRoot"].(string)
		below, isPath := entry["source"].(string)
		below = filepath.FromSlash(strings.TrimPrefix(below, "./"))
		if isPath && (source["source"] == "directory" || source["source"] == "file") && (below == "" || filepath.IsLocal(below)) && (base == "" || filepath.IsLocal(base)) {
			p.Root = f.offered(dir, base, below)
		}
		// The list's own servers count for a plugin that has no manifest of its own.
		if _, own := f.inside(p, ".claude-plugin/plugin.json"); entry["strict"] == false || !own {
			if tables := f.servers(p, []string{"plugins", strconv.Itoa(i), "mcpServers"}, entry["mcpServers"]); len(tables) > 0 {
				p.Files = append(p.Files, pluginFile{list, f.place(tables...)})
			}
		}
	}
}

// offered returns the folder of a plugin in the directory of a marketplace, which may name a folder for all.
func (f finder) offered(dir, base, below string) string {
	for _, root := range []string{filepath.Join(dir, base, below), filepath.Join(dir, below)} {
		if _, err := f.look.Real(root); err == nil {
			return root
		}
	}
	return filepath.Join(dir, below)
}

// gemini reads what Gemini CLI and its relatives note of an extension: whether it is a link to another
// directory, and whether it is switched off here.
func (f finder) gemini(p *Plugin) {
	manifest, isGemini := strings.CutSuffix(f.brings.Manifests[0], "-extension.json")
	if !isGemini {
		return
	}
	install := f.inFolder(p, "."+manifest+"-extension-install.json")
	if source, _ := install["source"].(string); install["type"] == "link" && filepath.IsAbs(source) {
		p.Root = source
	}
	name, _ := f.inFolder(p, f.brings.Manifests[0])["name"].(string)
	p.ID = cmp.Or(name, p.ID)
	path, list := f.list("extension-enablement.json")
	entry, _ := list[p.ID].(map[string]any)
	rules, _ := entry["overrides"].([]any)
	// The last rule that fits counts. Where no project is known, one that fits the home directory does.
	here := cmp.Or(f.host.Project, f.host.Home)
	for _, one := range rules {
		rule, _ := one.(string)
		at, off := strings.CutPrefix(rule, "!")
		switch below, all := strings.CutSuffix(at, "*"); {
		case !fits(below, all, here):
		case off:
			p.Off = path
		default:
			p.Off = ""
		}
	}
}

func (f finder) inFolder(p *Plugin, name string) map[string]any {
	path, ok := f.inside(p, name)
	if !ok {
		return nil
	}
	return f.table(path)
}

// fits compares a rule with a directory as these clients do: with slashes, one at each end.
func fits(rule string, below bool, dir string) bool {
	whole := func(path string) string {
		if path = strings.Trim(strings.ReplaceAll(path, `\`, "/"), "/"); path == "" {
			return "/"
		}
		return "/" + path + "/"
	}
	rule, dir = whole(rule), whole(dir)
	return dir == rule || below && strings.HasPrefix(dir, rule)
}

// desktop reads whether an extension of Claude Desktop is switched off.
func (f finder) desktop(p *Plugin) {
	if path, settings := f.list(p.ID + ".json"); settings["isEnabled"] == false {
		p.Off = path
	}
}

// systems are the names of systems in manifests of bundles.
var systems = map[string]string{"windows": "win32"}

// addSingle adds the one server of a bundle's manifest.
func (f finder) addSingle(p *Plugin, path string, manifest map[string]any, value any) {
	entry, is := value.(map[string]any)
	if !is {
		if server, _ := manifest["server"].(map[string]any); server != nil {
			p.Named = append(p.Named, namedPlugin{path, "its manifest has no command"})
		}
		return
	}
	overrides, _ := entry["platform_overrides"].(map[string]any)
	if over, _ := overrides[cmp.Or(systems[f.host.OS], f.host.OS)].(map[string]any); over["command"] != nil || over["args"] != nil {
		p.Named = append(p.Named, namedPlugin{path, "its manifest has another command for this system in platform_overrides: move that to command and args"})
		return
	}
	p.Files = append(p.Files, pluginFile{path, f.place(Table{Path: f.brings.At, Single: true})})
}
