// Package prefetch fetches the packages of wrapped servers, so that their first starts need not.
//
// Each package is fetched by a mcp-jail-cli install of its own, with the flags, the variables and the
// directory that the client's start of the server has. So it is pinned under the key that this start
// looks for, and two clients with the same line share it.
package prefetch

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Package is what some wrapped servers need, and have not got yet.
type Package struct {
	Name    string   // as their lines name it
	Servers []string // as their clients name them
	asked   string   // the arguments of mcp-jail install for it
	again   string   // the command that fetches it later

	flags, argv []string // of mcp-jail run
	env         []string // of the client's start
	dir         string
}

// unknown is in the place of a value that only the client knows, such as a token. No line with it in
// its package is fetched, and no program gets it.
const unknown = "/known-to-the-client-only"

// Missing returns the packages of the servers that are wrapped after some changes, as far as they are
// not in the store: each once.
func Missing(host hostfs.Host, clientsHost clients.Host, changes []*wrapping.Change) (missing []*Package) {
	known := map[lockfile.Key]*Package{}
	for _, ch := range changes {
		for _, s := range ch.Servers {
			p, key := packageOf(host, clientsHost, ch.File, s)
			if p == nil {
				continue
			}
			if first, ok := known[key]; ok {
				if first != nil && !slices.Contains(first.Servers, p.Servers[0]) {
					first.Servers = append(first.Servers, p.Servers...)
				}
				continue
			}
			if stored.HasPackage(host, key) {
				p = nil
			} else {
				missing = append(missing, p)
			}
			known[key] = p
		}
	}
	return missing
}

// packageOf returns the package of a server, or nil if none is fetched for it.
func packageOf(host hostfs.Host, clientsHost clients.Host, f *wrapping.File, s wrapping.ServerChange) (*Package, lockfile.Key) {
	if f.IsProject() { // others may have written its lines: they are fetched when the user starts them, without logins
		return nil, lockfile.Key{}
	}
	argv := s.Argv()
	if s.Left == "" {
		argv = append([]string{programs.Main}, s.Try()...)
	}
	if w, ok := clients.ParseWrapped(argv); !ok || w.Argv == nil || s.Disabled || host.OS == "windows" {
		return nil, lockfile.Key{}
	}
	started, err := s.AsClient(argv, clientsHost, func(clients.Reference) (string, error) { return unknown, nil })
	if err != nil {
		return nil, lockfile.Key{} // the client cannot start it here, and says why
	}
	w, _ := clients.ParseWrapped(started.Argv)
	line, err := runline.Parse(w.Argv)
	if err != nil {
		return nil, lockfile.Key{}
	}
	p := &Package{
		Name: line.Packages[0].String(), Servers: []string{show.Name(s.Server)},
		flags: w.Flags, argv: w.Argv, env: environment(host.Environ, started.Env), dir: directory(host, started),
	}
	plain := installed.Key(&line, &host)
	host.Environ, host.Dir = p.env, p.dir
	key := installed.Key(&line, &host)
	if strings.Contains(key.Spec, unknown) {
		return nil, lockfile.Key{} // only the client knows where the package comes from
	}
	p.asked = session.AskedLine(gaps.Has(s.Own, w), w.Argv, &line)
	p.again = "mcp-jail install " + p.asked
	if s.Own != nil {
		p.again = show.Typed("mcp-jail install", s.Own.Server.Name)
	}
	if plain != key { // the entry's variables choose the registry
		p.again = show.Typed("mcp-jail wrap --client "+f.Client.Name+" --server", s.Server)
	}
	return p, key
}

func environment(environ []string, env []clients.Variable) []string {
	environ = slices.Clone(environ)
	for _, v := range env {
		environ = slices.DeleteFunc(environ, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") })
		if !v.Unset {
			environ = append(environ, v.Name+"="+v.Value)
		}
	}
	return environ
}

func directory(host hostfs.Host, s wrapping.Started) string {
	dir := cmp.Or(s.Dir, s.Root, host.Dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return host.Dir
	}
	return dir
}
