package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Guarded returns what a grant of an absolute path would give a server a hold on, or "": mcp-jail's
// configuration, state, cache, packages and programs. With write, it also returns the files of
// clients, and what the user's session and tools run outside of the jail. The path leads to such a place, lies in it, or contains it. Guarded compares objects, and names without regard to case,
// so that no link, mount or other spelling hides a place.
func Guarded(h *hostfs.Host, p string, write bool) string {
	g := guard{h: h, paths: hostfs.NewLinkResolver(h)}
	at := g.canonical(p)
	b := &resolver{p: &policy.Policy{}, h: h, paths: g.paths}
	dirs := append(b.ownDirs(), defaultDirs(h)...)
	if write {
		dirs = append(dirs, b.trustedFiles()...)
		b.collectDeciding()
		for _, d := range b.deciding {
			if d.risk != packagesRisk { // a server may have a reason to write it: see warnDeciding
				dirs = append(dirs, d.abs)
			}
		}
	}
	for _, place := range dirs {
		if real := g.canonical(place); g.within(at, real) || g.within(real, at) {
			return place
		}
	}
	for _, file := range b.trustedFiles() {
		if g.within(at, g.canonical(file)) {
			return file
		}
	}
	return ""
}

// defaultDirs returns where mcp-jail's directories are without variables. The variables of this
// process may not be those of the user's shell.
func defaultDirs(h *hostfs.Host) []string {
	cfg, state, cache, data := hostfs.StandardDirs(&hostfs.Host{Home: h.Home})
	return slices.DeleteFunc([]string{cfg, state, cache, data}, func(dir string) bool { return !strings.HasPrefix(dir, "/") })
}

// A guard compares paths by what they lead to.
type guard struct {
	h     *hostfs.Host
	paths *hostfs.LinkResolver
}

func (g guard) canonical(p string) string {
	at, err := g.paths.Resolve(p)
	if err != nil {
		return path.Clean(p)
	}
	return at.Path
}

// within reports whether a canonical path is another one or lies in it.
func (g guard) within(p, dir string) bool {
	if policy.Within(strings.ToLower(p), strings.ToLower(dir)) {
		return true
	}
	of := g.paths.Lstat(dir)
	if of.Err != nil {
		return false
	}
	for ; p != "/"; p = path.Dir(p) {
		if s := g.paths.Lstat(p); s.Err == nil && s.Info.ID == of.Info.ID {
			return true
		}
	}
	return false
}
