package wrapping

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// OtherEntry is the reason why a change leaves an entry that it is not about.
const OtherEntry clients.Reason = "is another entry of that name"

// Rewrite returns the change that gives an entry another command line, which starts it in mcp-jail.
func (e Entry) Rewrite(argv []string) *Change {
	return e.file.change(Selection{Servers: []string{e.Server}}, func(s Entry, _ *ServerChange) (clients.Edit, clients.Reason) {
		if s.Key() != e.Key() {
			return clients.Edit{}, OtherEntry
		}
		return clients.Edit{Path: s.Path, Shape: s.Shape, Drop: len(s.Argv()), Words: argv}, ""
	})
}

// Reflags has Wrap give an entry the flags that a function makes of those that it has or would get. The
// caller knows that an entry that is wrapped starts in mcp-jail.
func (f *File) Reflags(key string, flags func([]string) []string) {
	f.reflags[key] = flags
}

// rewritten returns the edit that gives a wrapped entry another program and other flags.
func (s Entry) rewritten(line clients.Wrapped, program, flags []string) clients.Edit {
	was := s.Argv()[:len(line.Launcher)+2+len(line.Flags)]
	now := slices.Concat(program, []string{"run"}, flags)
	before, after := alike(was, now)
	return clients.Edit{Path: s.Path, Shape: s.Shape, At: before, Drop: len(was) - before - after, Words: now[before : len(now)-after]}
}

// alike returns how many words two lists begin and end with.
func alike(a, b []string) (before, after int) {
	least := min(len(a), len(b))
	for before < least && a[before] == b[before] {
		before++
	}
	for after < least-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	return before, after
}

// InProject returns how an entry of a project's file writes a path of the project, so that it is the
// same for all who use the file: with the client's variable, or relative if all its clients start
// servers in the project. It returns "" for another path, and if there is no such way.
func (e Entry) InProject(path string, host clients.Host) string {
	f := e.file
	if !f.IsProject() || host.Project == "" || !hostfs.Within(host.OS, f.Path, host.Project) {
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
