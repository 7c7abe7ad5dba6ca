package places

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Guarded returns what a grant of an absolute path would give a server a hold on, or "": mcp-jail's
// configuration, state, cache, packages and programs. With write, it also returns the files of
// clients, and what the user's session and tools run outside of the jail. The path leads to such a
// place, lies in it, or contains it. Guarded compares objects, and names without regard to case, so
// that no link, mount or other spelling hides a place.
func Guarded(h *hostfs.Host, p string, write bool) string {
	g := guard{h: h, paths: hostfs.NewLinkResolver(h)}
	at := g.canonical(p)
	b := New(&policy.Policy{}, h, g.paths)
	dirs := append(b.OwnDirs(), defaultDirs(h)...)
	if write {
		dirs = append(dirs, b.TrustedFiles()...)
		b.collectDeciding()
		for _, d := range b.Deciding {
			if d.Risk != PackagesRisk { // a server may have a reason to write it: see warnDeciding
				dirs = append(dirs, d.Abs)
			}
		}
	}
	for _, place := range dirs {
		if real := g.canonical(place); g.within(at, real) || g.within(real, at) {
			return place
		}
	}
	for _, file := range b.TrustedFiles() {
		if g.within(at, g.canonical(file)) {
			return file
		}
	}
	return ""
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
