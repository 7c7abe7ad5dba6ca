package wrapping

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/lines"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// noteStart notes what of a command line will not start, or not as the user thinks.
func (g *Grant) noteStart(c clients.Client, s Entry, host clients.Host) {
	argv := meaning.ReplacedAll(c, s.Argv(), host)
	if _, known := meaning.Replaced(c, s.Command, host); !known || host.OS == "windows" { // there, which endings a program may have, the client decides
		return
	}
	look := s.lookupHost(c, host)
	_, err := runline.Parse(argv)
	if whole := lines.Whole(argv[0], look); err != nil && whole != nil {
		g.Notes = append(g.Notes, shown.Words(argv)[0]+" is a whole line in one word, and no program has that name. Before you wrap it, write "+s.written(append(whole, argv[1:]...)))
		return
	}
	g.Notes = append(g.Notes, lines.Notes(argv, look)...)
}

// lookupHost returns the host as mcp-jail sees it when the client of an entry starts it.
func (s Entry) lookupHost(c clients.Client, host clients.Host) hostfs.Host {
	local, _ := hostfs.LocalHost() // without one, what is asked of it fails
	local.Home, local.Dir = host.Home, s.dir(host)
	local.ConfigDir, local.StateDir, local.CacheDir, local.DataDir = hostfs.StandardDirs(&local)
	local.Environ = slices.Clone(local.Environ)
	if host.Env != nil {
		local.Environ = append(local.Environ, "PATH="+host.Env("PATH"))
	}
	for _, v := range s.Env {
		if value, known := meaning.Replaced(c, v.Value, host); known && !v.Unset {
			local.Environ = append(local.Environ, v.Name+"="+value)
		}
	}
	return local
}
