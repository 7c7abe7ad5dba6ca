package wrapping

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Names chooses the names under which mcp-jail keeps servers. Two entries that start the same
// program share a name, and with it the server's own data. Two that start different programs
// under one name do not.
type Names struct {
	used map[string]string // of each name, the identity of the program
}

// NewNames returns the names that are taken: those of wrapped entries in files, and those of
// servers that had a session, with their command lines.
func NewNames(files []*File, kept map[string][]string) *Names {
	n := &Names{map[string]string{}}
	for name, argv := range kept {
		n.used[name] = identity(argv)
	}
	for _, f := range files {
		for _, s := range f.Entries {
			if w, ok := clients.ParseWrapped(s.Argv()); ok && w.Argv != nil {
				n.used[w.Name] = identity(w.Argv)
			}
		}
	}
	return n
}

func (n *Names) nameFor(f *File, s Entry) string {
	id := identity(s.Argv())
	base := clients.JailName(s.Server)
	if len(base) > 60 { // a hash and the name of a client follow
		base = base[:40] + "-" + policy.ShortHash(s.Server)
	}
	if _, err := runline.Parse(s.Argv()); (err != nil || s.isProject() && s.setsCode()) && (s.isProject() || s.For != "") {
		// "node server.js" is another program in each project.
		base += "-" + s.ownHash()
	}
	// Two clients that start the same program share its data.
	for _, name := range []string{base, base + "-" + s.by.client.Name} {
		if was, taken := n.used[name]; !taken || was == id {
			n.used[name] = id
			return name
		}
	}
	return base + "-" + policy.ShortHash(f.Path+" "+id)
}

func (s Entry) setsCode() bool {
	return s.EnvFile != "" || slices.ContainsFunc(s.Env, func(v clients.Variable) bool { return loadsCode(v.Name, v.Value) })
}

// identity tells programs apart: by all words.
func identity(argv []string) string { return strings.Join(argv, "\x00") }
