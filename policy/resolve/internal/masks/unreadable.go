package masks

import (
	"errors"
	"io/fs"
	"path"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// HideUnreadable hides a directory that cannot be searched. Its content cannot be judged,
// but the server could reach it by chmod, as its owner, or by guessing names. Otherwise a
// server could close a directory in one session and open it in the next: the scan of the next
// start would find nothing there to hide.
func (b *Masks) HideUnreadable(dir string) {
	for ; ; dir = path.Dir(dir) {
		e, ok := b.Entries.Find(dir)
		if !ok || e.Rights == 0 || e.Origin == policy.OriginHome || e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.Entries.InsideRule(e.Path) {
			return
		}
		info, err := b.Host.Lstat(dir)
		switch {
		case err == nil:
			if !info.Mode.IsDir() || info.UID != b.Host.UID && !b.isSearchable(dir) {
				return
			}
			b.Warn("unreadable", e.Rule, "%s cannot be searched for files to hide or protect, so all of it is hidden; make it readable (chmod u+rx) and start again", dir)
			b.Entries[dir] = policy.Entry{Path: dir, Kind: policy.KindDir, Origin: policy.OriginSensitive, Named: dir, Rule: policy.UnsearchableRule, ID: info.ID}
			return
		case errors.Is(err, fs.ErrNotExist), dir == path.Dir(dir), !errors.Is(err, syscall.ENAMETOOLONG) && b.isSearchable(path.Dir(dir)):
			return // gone, or unreachable for every process, such as a dead mount
		}
		// dir can only be hidden together with the directory above it.
	}
}

func (b *Masks) isSearchable(dir string) bool {
	_, err := b.Host.Lstat(path.Join(dir, ".env"))
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
