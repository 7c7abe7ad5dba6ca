package resolve

import (
	"maps"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// caseFolding finds out which names can be reached under another spelling.
type caseFolding struct {
	*facts

	caseInsensitive map[string]bool // directories: see isCaseInsensitive
}

func (b *caseFolding) foldedNames(unprotected []string) []policy.FoldedName {
	found := map[string]policy.FoldedName{}
	add := func(name string) {
		var way []string
		for p := name; p != path.Dir(p); p = path.Dir(p) {
			if _, inside := b.entries.Find(path.Dir(p)); !inside {
				break
			}
			way = append(way, p)
		}
		if !slices.ContainsFunc(way, b.isCaseInsensitive) {
			return
		}
		for _, p := range way {
			f := policy.FoldedName{Path: p}
			if s := b.paths.Lstat(p); s.Err == nil {
				f.ID = s.Info.ID
				other := path.Join(path.Dir(p), otherCase(path.Base(p)))
				f.BypassesMount = b.h.SameName == nil || other == p || !b.h.SameName(p, other)
				if other != p {
					f.OtherSpelling = other
				}
			}
			found[p] = f
		}
	}
	for _, e := range b.entries.Sorted() {
		if around, ok := b.entries.Find(path.Dir(e.Path)); ok && e.Path != "/" && around.Rights&^e.Rights != 0 {
			add(e.Path)
		}
	}
	for _, u := range unprotected {
		add(u)
	}
	var out []policy.FoldedName
	for _, p := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[p])
	}
	return out
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
		folds = b.places.IsSame(path.Join(dir, otherCase(path.Base(name))), name)
	} else if dir != "/" {
		folds = b.isCaseInsensitive(dir)
	}
	b.caseInsensitive[dir] = folds
	return folds
}

// existingName returns an existing path in the directory of name whose base has a letter: name
// itself if it is such a path. It returns "" if there is none.
func (b *caseFolding) existingName(name string) string {
	if otherCase(path.Base(name)) != path.Base(name) && b.paths.Lstat(name).Err == nil {
		return name
	}
	dir := path.Dir(name)
	names, _ := b.paths.Names(dir)
	for _, other := range names {
		if otherCase(other) != other {
			return path.Join(dir, other)
		}
	}
	return ""
}

// otherCase returns a name with the case of its first letter changed.
func otherCase(name string) string {
	for i, c := range []byte(name) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			return name[:i] + string(c^0x20) + name[i+1:]
		}
	}
	return name
}
