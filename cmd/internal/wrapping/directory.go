package wrapping

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// StartDir returns the directory in which the clients of a file start the server of an entry, or "" if
// only they know. A file of a project is for servers of that project.
func (f *File) StartDir(e Entry, host clients.Host) string {
	if e.For != "" {
		host.Project = e.For
	}
	if dir := (&Grant{}).startDir(f.Client, e, host); dir != "" || e.Cwd != "" {
		return dir
	}
	if f.IsProject() || e.For != "" {
		return host.Project
	}
	return ""
}

// startDir returns the directory in which a client starts the server of an entry, or "" if only the
// client knows. It adds a note if a symbolic link leads there, and refuses a path that can be read in
// two ways.
func (g *Grant) startDir(c clients.Client, s Entry, host clients.Host) string {
	if s.Cwd == "" {
		if c.Dir == clients.DirProject || c.Dir == clients.DirOpen {
			return host.Project
		}
		return ""
	}
	dir, known := meaning.Replaced(c, s.Cwd, host)
	if known && !filepath.IsAbs(dir) {
		known, dir = host.Project != "", host.Project+"/"+dir
	}
	if !known || !strings.HasPrefix(dir, "/") {
		return ""
	}
	if why := meaning.TwoWays(dir); why != "" {
		g.refused = clients.Reason("has the cwd " + s.Cwd + ", and " + why)
		return ""
	}
	real, links, err := hostfs.ResolveLinks(dir)
	if err != nil {
		return filepath.Clean(dir)
	}
	if len(links) > 0 && real != filepath.Clean(dir) {
		g.Notes = append(g.Notes, "it is started in "+s.Cwd+", which leads to "+real+" by a symbolic link")
	}
	return real
}

// checkFiles adds the warnings of a start about files, and finds what a start would refuse. It returns
// the rules that grant something. dir is the directory that the server starts in: "" is unknown.
func (g *Grant) checkFiles(server *config.Server, dir string, host clients.Host) (placed []resolve.PlacedRule) {
	local, defaults, err := meaning.LocalPolicy(host)
	if err != nil {
		g.refuse("is not known to be safe", err)
		return nil
	}
	local.Dir = dir
	if local.OS == "windows" || !strings.HasPrefix(local.Home, "/") {
		return nil // a start there has no files to check
	}
	c := config.Config{Servers: map[string]*config.Server{"server": server}}
	server.Name = "server"
	p, err := c.Policy("server", "")
	if err != nil {
		g.refuse("would not start in the jail", err)
		return nil
	}
	// Judge the rules as run would, with the user's own sensitive paths.
	p.FromCommandLine, p.Where, p.Sensitive, p.Kept = true, "", append(p.Sensitive, defaults.Sensitive...), append(p.Kept, defaults.Kept...)
	if dir == "" && server.Access == nil {
		return nil // no rule has a place
	}
	placed, warnings, err := resolve.CheckFiles(p, local)
	if err != nil {
		g.refuse("would not start in the jail", err)
	}
	for _, w := range warnings {
		g.Notes = append(g.Notes, w.String())
	}
	return placed
}

func (g *Grant) refuse(reason string, err error) {
	if g.refused == "" {
		g.refused = clients.Reason(reason + ": " + err.Error())
	}
}
