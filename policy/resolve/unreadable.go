package resolve

import (
	"errors"
	"io/fs"
	"path"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// hideUnreadable hides a directory that cannot be looked into. What it holds cannot be
// judged, but the server could reach it: with chmod, as its owner, or by guessing
// names. Otherwise it would close a directory in one session, and open it in the
// next, which has found nothing there to hide.
func (b *resolver) hideUnreadable(dir string) {
	for ; ; dir = path.Dir(dir) {
		e, ok := b.entryFor(dir)
		if !ok || e.Rights == 0 || e.Origin == policy.OriginHome || e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.insideRule(e.Path) {
			return
		}
		info, err := b.h.Lstat(dir)
		switch {
		case err == nil:
			if !info.Mode.IsDir() || info.UID != b.h.UID && !b.isSearchable(dir) {
				return
			}
			b.warn("unreadable", e.Rule, "%s cannot be searched for what has to be hidden or protected in it: all of it is hidden; make it readable (chmod u+rx) and start again", dir)
			b.byPath[dir] = policy.Entry{Path: dir, Kind: policy.KindDir, Origin: policy.OriginSensitive, Named: dir, Rule: policy.UnsearchableRule, ID: info.ID}
			return
		case errors.Is(err, fs.ErrNotExist), dir == "/", !errors.Is(err, syscall.ENAMETOOLONG) && b.isSearchable(path.Dir(dir)):
			return // gone, or something that the kernel keeps from everybody here: a dead mount
		}
		// Without its directory it cannot be reached, and not be hidden either.
	}
}

// isSearchable reports whether names in a directory can be asked about.
func (b *resolver) isSearchable(dir string) bool {
	_, err := b.h.Lstat(path.Join(dir, ".env"))
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
