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
	b := New(&policy.Policy{}, h, hostfs.NewLinkResolver(h))
	at := b.paths.Canonical(p)
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
		if real := b.paths.Canonical(place); b.holds(at, real) || b.holds(real, at) {
			return place
		}
	}
	for _, file := range b.TrustedFiles() {
		if b.holds(at, b.paths.Canonical(file)) {
			return file
		}
	}
	return ""
}

func (b *Places) holds(p, dir string) bool {
	if policy.Within(strings.ToLower(p), strings.ToLower(dir)) {
		return true
	}
	of := b.paths.Lstat(dir)
	if of.Err != nil {
		return false
	}
	for ; p != "/"; p = path.Dir(p) {
		if s := b.paths.Lstat(p); s.Err == nil && s.Info.ID == of.Info.ID {
			return true
		}
	}
	return false
}
