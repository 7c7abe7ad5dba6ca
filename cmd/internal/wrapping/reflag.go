package wrapping

import (
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Reflag returns the change that gives an entry that starts in mcp-jail other flags of mcp-jail run.
// The words that both lines begin and end with stay as they are spelled.
func (e Entry) Reflag(flags []string) *Change {
	return e.file.change(Selection{Servers: []string{e.Server}}, func(s Entry, p *ServerChange) (clients.Edit, clients.Reason) {
		argv := s.Argv()
		line, wrapped := clients.ParseWrapped(argv)
		switch {
		case s.Key() != e.Key():
			return clients.Edit{}, "is another entry of that name"
		case !wrapped || line.Argv == nil:
			return clients.Edit{}, NotWrapped
		}
		p.Name = line.Name
		before, after, same := 2, 0, 2+len(line.Flags) // mcp-jail run
		for before < same && before-2 < len(flags) && argv[before] == flags[before-2] {
			before++
		}
		for after < same-before && after < len(flags)-(before-2) && argv[same-1-after] == flags[len(flags)-1-after] {
			after++
		}
		return clients.Edit{Path: s.Path, Shape: s.Shape, At: before, Drop: same - before - after, Words: flags[before-2 : len(flags)-after]}, ""
	})
}

// InProject returns how an entry of a project's file writes a path of the project, so that it is the
// same for all who use the file: with the client's variable, or relative if all its clients start
// servers in the project. It returns "" for another path, and if there is no such way.
func (e Entry) InProject(path string, host clients.Host) string {
	f := e.file
	if !f.IsProject() || host.Project == "" || !policy.Within(f.Path, host.Project) {
		return ""
	}
	rel, err := filepath.Rel(host.Project, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	relative := e.Cwd == ""
	for _, c := range f.clients() {
		if c.Workspace() != "" {
			word := c.Workspace()
			if rel != "." {
				word += "/" + filepath.ToSlash(rel)
			}
			if as, known := f.replaced(word, host); known && as == path {
				return word
			}
		}
		relative = relative && (c.Dir == clients.DirProject || c.Dir == clients.DirOpen)
	}
	switch {
	case !relative || f.References(rel):
		return ""
	case rel == ".":
		return rel
	}
	return "./" + rel
}
