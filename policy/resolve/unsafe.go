package resolve

import (
	"fmt"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// whyUnsafe returns why the default policy and presets do not grant a canonical path that the user
// did not name, or "". A project chooses the directory that its servers start in, so that directory is
// judged as a grant. What lies in the path is not asked for: it stays protected inside the grant.
func (b *resolver) whyUnsafe(dir string) string {
	why, known := b.unsafe[dir]
	if !known {
		if b.unsafe == nil {
			b.unsafe = map[string]string{}
		}
		why = b.judgeUnsafe(dir)
		b.unsafe[dir] = why
	}
	return why
}

// judgeUnsafe is whyUnsafe for the first question about a path.
func (b *resolver) judgeUnsafe(dir string) string {
	home := b.canonical(b.h.Home)
	switch {
	case dir == "/":
		return "is the root of the filesystem"
	case dir == home:
		return "is the home directory"
	case policy.Within(home, dir):
		return "holds the home directory"
	}
	for _, own := range append(b.ownDirs(), defaultDirs(b.h)...) {
		if own = b.canonical(own); policy.Within(own, dir) || b.liesIn(dir, own) {
			return fmt.Sprintf("holds, or is inside of, mcp-jail's own files (%s)", own)
		}
	}
	if isSystemPlace(dir) {
		return "is a system directory"
	}
	if s := b.sensitiveAround(dir); s != "" {
		return fmt.Sprintf("is a sensitive path (%s)", s)
	}
	in := func(place, named, risk string) string {
		is := "is in"
		if !b.liesIn(path.Dir(dir), place) {
			is = "is"
		}
		return fmt.Sprintf("%s %s (%s, outside of the jail)", is, named, risk)
	}
	if d, ok := b.decidingAround(dir); ok {
		return in(b.canonical(d.abs), d.named, d.risk)
	}
	for _, d := range b.decidingWork {
		// A program is found in a directory of PATH itself. Directories in it are the user's work.
		if at := b.canonical(d.abs); b.liesIn(dir, at) && (d.risk != pathRisk || !b.liesIn(path.Dir(dir), at)) {
			return in(at, d.named, d.risk)
		}
	}
	if name := b.protectedAround(dir); name != "" {
		return in(name, b.abbreviate(name), "programs run or trust what is there")
	}
	return ""
}

// liesIn reports whether a canonical path that exists is a canonical place, or lies in it. It finds
// the place under other names, too: a bind mount, or another letter case. A place around the home
// directory holds everything.
func (b *resolver) liesIn(p, place string) bool {
	if policy.Within(b.canonical(b.h.Home), place) {
		return false
	}
	if policy.Within(p, place) {
		return true
	}
	of := b.paths.Lstat(place)
	if of.Err != nil || of.Info.ID == (policy.FileID{}) {
		return false
	}
	for ; p != "/"; p = path.Dir(p) {
		if s := b.paths.Lstat(p); s.Err == nil && s.Info.ID == of.Info.ID {
			return true
		}
	}
	return false
}

// entriesOf returns the names in a canonical directory, or none if it cannot be listed.
func (b *resolver) entriesOf(dir string) (names []string) {
	entries, known := b.paths.Listings[dir]
	if !known {
		entries, _ = b.h.ReadDir(dir)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// decidingAround returns the path that decides which a canonical path is, or lies in.
func (b *resolver) decidingAround(p string) (decidingPath, bool) {
	for _, d := range b.deciding {
		if at := b.canonical(d.abs); b.liesIn(p, at) && !policy.IsClientsCopy(strings.TrimPrefix(p, at)) {
			return d, true
		}
	}
	return decidingPath{}, false
}

// protectedAround returns the protected name that a canonical path is, or lies in, or "".
func (b *resolver) protectedAround(p string) string {
	// A repository may have the name .github. What is in one counts in the root of another.
	if dir := path.Dir(p); strings.EqualFold(path.Base(p), ".github") && b.paths.Exists(path.Join(dir, ".git")) {
		return p
	}
	return policy.ProtectedAround(p)
}

// canonical returns the canonical form of a path, or the path itself if its links form a
// loop.
func (b *resolver) canonical(p string) string {
	if known, ok := b.canonicals[p]; ok {
		return known
	}
	at, err := b.paths.Resolve(p)
	if err != nil {
		at.Path = path.Clean(p)
	}
	if b.canonicals == nil {
		b.canonicals = make(map[string]string, 300)
	}
	b.canonicals[p] = at.Path
	return at.Path
}
