package wrapping

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/locate"
	"github.com/mcp-jail/mcp-jail/cmd/internal/updates"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func eachOfPlugins(c clients.Client, host clients.Host, each func(reading, string)) {
	for _, p := range locate.Plugins(c, host) {
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

// addPlugin grants the server of a plugin the variables of its folders, and the folder to which the
// plugin may write. It returns the other paths.
func (g *Grant) addPlugin(server *config.Server, s Entry, found []meaning.Path) []meaning.Path {
	p, c := s.by.plugin, s.by.client
	if p == nil {
		return found
	}
	words := s.Argv()
	for _, v := range s.Env {
		words = append(words, v.Value)
	}
	root, data := p.Variables(c, words)
	isData := func(word string) bool { return data != "" && c.Names(word, data) }
	if slices.ContainsFunc(words, isData) {
		g.Flags = append(g.Flags, "--write", "${"+data+"}")
		server.Access = &config.Access{Fs: []policy.FsRule{{Path: c.Known[data], Read: true, Create: true, Update: true, Delete: true}}}
	}
	found = slices.DeleteFunc(found, func(f meaning.Path) bool { return isData(f.Word) })
	granted := func(f meaning.Path) bool { return f.Why == "" }
	isRoot := func(f meaning.Path) bool { return f.Path == p.Root && granted(f) }
	if root != "" && (server.Access != nil || slices.ContainsFunc(found, granted)) && !slices.ContainsFunc(found, isRoot) {
		// The default policy grants its code as well, and rules for files replace that.
		found = append(found, meaning.Path{Word: "${" + root + "}", Path: p.Root})
	}
	for _, name := range []string{root, data} {
		if name != "" && p.Sets() {
			g.addNames(server, []string{name})
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
