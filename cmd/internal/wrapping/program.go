package wrapping

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// noteStart notes what of a command line will not start, or not as the user thinks: a program that is
// missing, and a wrapper that hides a package from mcp-jail.
func (g *Grant) noteStart(c clients.Client, s Entry, host clients.Host) {
	argv := replacedAll(c, s.Argv(), host)
	if _, known := replaced(c, s.Command, host); !known || host.OS == "windows" { // there, which endings a program may have, the client decides
		return
	}
	look := s.lookupHost(c, host)
	line, err := runline.Parse(argv)
	if err == nil {
		// mcp-jail starts the packages of launchers itself, without the launcher.
		if finder := installed.FinderFor(&look); hasPath(look) && !finder.Has(&line) {
			if err := (&install.Installer{Host: look}).CanFetch(&line); err != nil {
				g.Notes = append(g.Notes, "the server cannot start: "+err.Error())
			}
		}
		return
	}
	inner, passed := runline.Behind(argv)
	switch {
	case wholeLine(argv[0], look) != nil:
		g.Notes = append(g.Notes, shown.Words(argv)[0]+" is a whole line in one word, and no program has that name. Before you wrap it, write "+s.written(append(wholeLine(argv[0], look), argv[1:]...)))
	case missing(argv[0], look) != "":
		g.Notes = append(g.Notes, argv[0]+" "+missing(argv[0], look)+" on this machine: the server cannot start, with a jail or without")
	case len(passed) > 0 && len(inner) > 0:
		g.notePassed(inner, passed, look)
	}
}

// notePassed notes what follows from programs that start the server's.
func (g *Grant) notePassed(inner []string, passed []runline.Passed, look hostfs.Host) {
	last := passed[len(passed)-1].Program
	line, err := runline.Parse(inner)
	switch why := missing(inner[0], look); {
	case err == nil:
		g.Notes = append(g.Notes, last+" starts "+string(line.Launcher)+", so mcp-jail does not see the package: it is fetched in the jail at each start, is not pinned, and its registry needs --net. Without "+last+" in front, mcp-jail fetches and pins it once")
	case why != "":
		g.Notes = append(g.Notes, inner[0]+" "+why+" on this machine: the server cannot start, with a jail or without")
	}
	if at := slices.IndexFunc(passed, func(p runline.Passed) bool { return p.Secrets }); at >= 0 {
		g.Notes = append(g.Notes, passed[at].Program+" runs in the jail, too, without its login, its files and its hosts: it will fail if it needs one of them. A secret whose command asks for it outside of the jail: mcp-jail explain secret")
	}
}

// missing returns why a start does not find a program, or "". It says nothing of a relative path:
// clients start in different directories.
func missing(program string, look hostfs.Host) string {
	if !filepath.IsAbs(program) && (strings.ContainsRune(program, '/') || !hasPath(look)) {
		return ""
	}
	err := resolve.CheckProgram(program, look)
	var bad *resolve.CommandError
	if errors.As(err, &bad) {
		return bad.Reason
	}
	return ""
}

// hasPath reports whether the PATH that a client starts with is known.
func hasPath(look hostfs.Host) bool {
	path, _ := look.Getenv("PATH")
	return path != ""
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
		if value, known := replaced(c, v.Value, host); known && !v.Unset {
			local.Environ = append(local.Environ, v.Name+"="+value)
		}
	}
	return local
}
