package resolve

import (
	"maps"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// folded finds the names that a server could pass by under another spelling.
func (b *builder) folded(unprotected []string) []policy.Folded {
	found := map[string]policy.Folded{}
	add := func(name string) {
		var way []string
		for p := name; p != "/"; p = path.Dir(p) {
			if _, inside := b.find(path.Dir(p)); !inside {
				break
			}
			way = append(way, p)
		}
		if !slices.ContainsFunc(way, b.folds) {
			return
		}
		for _, p := range way {
			f := policy.Folded{Path: p}
			if s := b.f.Look(p); s.Err == nil {
				f.ID = s.Info.ID
				other := path.Join(path.Dir(p), otherCase(path.Base(p)))
				f.Passed = b.h.OneName == nil || other == p || !b.h.OneName(p, other)
				if other != p {
					f.Other = other
				}
			}
			found[p] = f
		}
	}
	for _, e := range b.entries() {
		if around, ok := b.find(path.Dir(e.Path)); ok && e.Path != "/" && around.Rights&^e.Rights != 0 {
			add(e.Path)
		}
	}
	for _, u := range unprotected {
		add(u)
	}
	var out []policy.Folded
	for _, p := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[p])
	}
	return out
}

// folds tries whether the directory of a name finds one of its names with a letter in the
// other case too, each directory once. Nothing is known of one that is empty, or cannot be
// listed: it is taken to be what the directory is that it lies in.
func (b *builder) folds(name string) bool {
	dir := path.Dir(name)
	if known, ok := b.folding[dir]; ok {
		return known
	}
	folds := false
	if name = b.knownName(name); name != "" {
		other, err := b.h.Lstat(path.Join(dir, otherCase(path.Base(name))))
		s := b.f.Look(name)
		folds = err == nil && s.Info.ID != policy.FileID{} && other.ID == s.Info.ID
	} else if dir != "/" {
		folds = b.folds(dir)
	}
	b.folding[dir] = folds
	return folds
}

// knownName is a path that is there and has another case, in the directory of name: name
// itself, where it is one; "" where there is none.
func (b *builder) knownName(name string) string {
	if otherCase(path.Base(name)) != path.Base(name) && b.f.Look(name).Err == nil {
		return name
	}
	dir := path.Dir(name)
	entries, listed := b.f.Listed[dir]
	if !listed {
		entries, _ = b.h.ReadDir(dir)
	}
	for _, e := range entries {
		if otherCase(e.Name) != e.Name {
			return path.Join(dir, e.Name)
		}
	}
	return ""
}

// otherCase is a name with the case of its first letter changed.
func otherCase(name string) string {
	for i, c := range []byte(name) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			return name[:i] + string(c^0x20) + name[i+1:]
		}
	}
	return name
}
