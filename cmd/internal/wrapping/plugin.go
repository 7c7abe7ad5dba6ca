package wrapping

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/updates"
)

func eachOfPlugins(c clients.Client, host clients.Host, each func(reading, string)) {
	for _, p := range pluginsOf(c, host) {
		for _, f := range p.Files {
			each(reading{p.Reader(c), f.Place, p}, f.Path)
		}
	}
}

// pluginReading returns how a client reads a file of one of its plugins, or nil for another file.
func pluginReading(path string, host clients.Host, sel Selection) (found *reading) {
	for _, c := range clients.All() {
		if sel.selects(c) {
			eachOfPlugins(c, host, func(r reading, at string) {
				if at == path && found == nil {
					found = &r
				}
			})
		}
	}
	return found
}

// remember notes for the next starts whether the file of a plugin has wrapped servers. text is its content.
func remember(f *File, dir string, text []byte) error {
	p := f.Plugin()
	if p == nil {
		return nil
	}
	list := p.List
	if list == "" && p.Version != "" && filepath.Base(p.Root) == p.Version { // of each version there is a folder
		list = filepath.Dir(p.Root)
	}
	return updates.Remember(dir, updates.Plugin{
		Client: p.Client, Title: f.Client.Title, ID: p.ID, Name: p.Title(), Root: p.Root,
		File: updates.SeeText(f.own.Real, text), List: updates.See(list),
	}, f.hasWrapped())
}

// Refresh notes a file of a plugin as it is, if it is not as it was noted.
func Refresh(f *File, dir string) error {
	if p := f.Plugin(); p == nil || f.Err != nil || !slices.ContainsFunc(updates.Check(dir), func(o updates.Plugin) bool { return o.ID == p.ID }) {
		return nil
	}
	return remember(f, dir, f.own.Data)
}
