package resolve

import (
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// caseFolding finds out which directories ignore case.
type caseFolding struct {
	*facts

	caseInsensitive map[string]bool // see isCaseInsensitive
}

// directories returns Profile.IgnoreCase.
func (b *caseFolding) directories() (out []string) {
	for _, e := range b.entries.Sorted() {
		around, ok := b.entries.Find(path.Dir(e.Path))
		if !ok || e.Path == "/" || around.Rights&^e.Rights == 0 {
			continue
		}
		for p := e.Path; ok && p != "/"; p = path.Dir(p) {
			if b.isCaseInsensitive(p) {
				out = append(out, path.Dir(p))
			}
			_, ok = b.entries.Find(path.Dir(path.Dir(p)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isCaseInsensitive asks, once for each directory, whether it finds a name under another
// case. A directory that is empty or cannot be listed is taken to be like its parent.
func (b *caseFolding) isCaseInsensitive(name string) bool {
	dir := path.Dir(name)
	if known, ok := b.caseInsensitive[dir]; ok {
		return known
	}
	folds := false
	if name = b.existingName(name); name != "" {
		folds = b.places.IsSame(path.Join(dir, hostfs.OtherCase(path.Base(name))), name)
	} else if dir != "/" {
		folds = b.isCaseInsensitive(dir)
	}
	b.caseInsensitive[dir] = folds
	return folds
}

// existingName returns an existing path in the directory of name whose base has a letter: name
// itself if it is such a path. It returns "" if there is none.
func (b *caseFolding) existingName(name string) string {
	if hostfs.OtherCase(path.Base(name)) != path.Base(name) && b.paths.Lstat(name).Err == nil {
		return name
	}
	dir := path.Dir(name)
	names, _ := b.paths.Names(dir)
	for _, other := range names {
		if hostfs.OtherCase(other) != other {
			return path.Join(dir, other)
		}
	}
	return ""
}
