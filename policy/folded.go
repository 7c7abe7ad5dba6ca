package policy

import (
	"path"
	"slices"
	"strings"
)

// A Folded is a name that its filesystem finds under other spellings too: one of an
// entry, of a name that must not come into being, or of a directory on the way to these.
// Some filesystems ignore case (vfat, ext4 with casefold, the disk of Windows or of a Mac
// that is seen from Linux), and then often more than case. So it is the object that has
// to be looked at, and its spelling only where there is no object.
type Folded struct {
	Path string
	ID   FileID // zero where nothing is there
	// Passed says that for the kernel another spelling is another name: what is mounted
	// on Path is not found under it.
	Passed bool
	// Other is one of the other spellings, "" where none is known.
	Other string
}

// Spelled is a canonical path with the spellings that the profile knows. Where an object
// is meant, ask for it by its identity first.
func (p *Profile) Spelled(name string) string {
	best := ""
	rest := ""
	for _, f := range p.Folded {
		n := len(f.Path) - len(strings.ReplaceAll(f.Path, "/", ""))
		head, tail := firstNames(name, n)
		if len(f.Path) > len(best) && folded(head) == folded(f.Path) {
			best, rest = f.Path, tail
		}
	}
	if best == "" {
		return name
	}
	return best + rest
}

// firstNames cuts a path behind its first n names. head is "" where it has fewer.
func firstNames(name string, n int) (head, tail string) {
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			if n--; n == 0 {
				return name[:i], name[i:]
			}
		}
	}
	return "", ""
}

// folded finds the names that a server could pass by under another spelling.
func (b *builder) folded(unprotected []string) []Folded {
	found := map[string]Folded{}
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
			f := Folded{Path: p}
			if s := b.f.look(p); s.err == nil {
				f.ID = s.info.ID
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
	var out []Folded
	for _, p := range sortedKeys(found) {
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
		s := b.f.look(name)
		folds = err == nil && s.info.ID != FileID{} && other.ID == s.info.ID
	} else if dir != "/" {
		folds = b.folds(dir)
	}
	b.folding[dir] = folds
	return folds
}

// knownName is a path that is there and has another case, in the directory of name: name
// itself, where it is one; "" where there is none.
func (b *builder) knownName(name string) string {
	if otherCase(path.Base(name)) != path.Base(name) && b.f.look(name).err == nil {
		return name
	}
	dir := path.Dir(name)
	entries, listed := b.f.listed[dir]
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
