package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
)

// What mounts and Landlock cannot hold is decided by name, one call at a time:
// names that must not come into being inside of a writable grant, and those whose
// mount is gone because the host replaced the file below it.

// Verdict is what Mediate says of one operation.
type Verdict uint8

const (
	Granted   Verdict = iota // as far as the profile is concerned
	Forbidden                // a right is missing, or the name is one that must not change
	Pinned                   // the name carries an entry, or leads to one: it stays where it is
)

// Mediate decides an operation on a path that a server tries. Unlike Allows it
// has nothing to say of paths that no entry covers: those are the jail's own, or do
// not exist in it.
//
// path must be canonical but for its last component, which is not followed.
func (p *Profile) Mediate(op Op, path string) Verdict {
	_, covered := p.Find(path)
	switch {
	case !covered || p.Allows(op, path):
		return Granted
	case (op == OpCreate || op == OpMkdir || op == OpRemove) && p.containsEntry(path) && p.rightsFor(op, path):
		return Pinned
	}
	return Forbidden
}

// rightsFor tells whether the directory that holds a name has the right that
// making or removing it takes.
func (p *Profile) rightsFor(op Op, name string) bool {
	want := Create
	if op == OpRemove {
		want = Delete
	}
	return p.RightsAt(path.Dir(name)).Has(want)
}

// Protects reports whether a path inside of a writable grant is, or lies below, a
// name that must not come into being or change: one of Unprotected, or a protected
// name in whatever directory.
func (p *Profile) Protects(op Op, path string) bool {
	switch op {
	case OpWrite, OpTruncate, OpCreate, OpMkdir, OpRemove:
	default:
		return false
	}
	for _, u := range p.Unprotected {
		// Where the way to such a name is still missing, nothing but a directory may
		// stand there: a symlink would lead to one that has the name.
		if Within(path, u) || op == OpCreate && Within(u, path) {
			return true
		}
	}
	e, ok := p.Find(path)
	return ok && e.Origin != OriginHome && e.Path != path && isProtectedPath(path[len(strings.TrimSuffix(e.Path, "/")):], op) &&
		!InPackage(p.Entries, path)
}

// MediateRename is Mediate for a rename from src, which exists, to dst. holds tells
// of the object that is moved: with "" whether it is a directory, with a name
// whether it has something of that name, with "**" whether there is a protected
// name anywhere in it.
func (p *Profile) MediateRename(src, dst string, holds func(name string) bool) Verdict {
	if v := p.Mediate(OpRemove, src); v != Granted {
		return v
	}
	op := OpCreate
	if holds("") {
		op = OpMkdir
	}
	if v := p.Mediate(op, dst); v != Granted {
		return v
	}
	for _, u := range p.Unprotected {
		if Within(u, dst) || Within(u, src) {
			return Forbidden // would bring the name into being, or let another take its place
		}
	}
	e, ok := p.Find(dst)
	if !ok || e.Origin == OriginHome || op == OpCreate {
		return Granted
	}
	below, _ := ProtectedParts(foldCase(path.Base(dst)))
	if e.Path != dst && slices.ContainsFunc(below, holds) || InGitInternals(dst[len(strings.TrimSuffix(e.Path, "/")):]) {
		return Forbidden
	}
	// What was made where nobody minds must not come to where somebody does, nor go
	// there to be changed.
	if (p.isUnprotectedTree(src) || isExempt(dst)) && !(isExempt(src) && isExempt(dst)) && holds("**") {
		return Forbidden
	}
	return Granted
}

// isUnprotectedTree tells a place in which protected names may be made.
func (p *Profile) isUnprotectedTree(path string) bool {
	e, ok := p.Find(path)
	return isExempt(path) || ok && e.Origin == OriginHome
}

// EntersProtected reports whether what is moved comes from where protected names may be made
// to where they may not.
func (p *Profile) EntersProtected(src, dst string) bool {
	return p.isUnprotectedTree(src) && !p.isUnprotectedTree(dst)
}

// InGitInternals reports whether path lies in a directory in which git keeps the git
// directories of worktrees and submodules. A git directory that was made elsewhere must
// not be moved there.
func InGitInternals(path string) bool {
	path = foldCase(path) + "/"
	return strings.Contains(path, "/.git/modules/") || strings.Contains(path, "/.git/worktrees/")
}

// isProtectedPath reports whether a path, relative to the grant that it lies in and with
// a slash in front, is at or below a protected name.
//
// Case does not matter: some filesystems fold it, and so do the programs that
// read these files there. What lies in node_modules is a package's own: it comes
// with such names, and nobody looks for them there.
func isProtectedPath(rel string, op Op) bool {
	if isExempt(rel) {
		return false
	}
	names := strings.Split(foldCase(rel), "/")[1:]
	for i, name := range names {
		below, protected := ProtectedParts(name)
		switch {
		case !protected:
		case name == ".git" && i < len(names)-1 && isGitInternal(names[i+1:]):
			return true
		case below == nil:
			return true
		case i == len(names)-1:
			// A new repository is refused as a whole, and not left half made. Elsewhere a
			// directory without the parts that matter is harmless, and so is its end.
			return name == ".git" || op != OpMkdir && op != OpRemove
		case slices.Contains(below, names[i+1]):
			return true
		}
	}
	return false
}

// isGitInternal reports whether a path below a git directory is, or makes, what git
// believes in the directories of submodules and worktrees. A new one of a submodule
// is refused as a whole: git takes it for what it has cloned before.
func isGitInternal(names []string) bool {
	parts := GitParts
	switch names[0] {
	case "modules":
		if len(names) <= 2 {
			return true
		}
	case "worktrees":
		parts = WorktreeParts
	default:
		return false
	}
	for i, name := range names[min(2, len(names)):] {
		if name == "heads" || name == "remotes" || name == "tags" {
			if names[i+1] == "refs" {
				return false // the name of a branch
			}
		}
		if slices.Contains(parts, name) {
			return true
		}
	}
	return false
}

// packaged is exempt for a node_modules that a rule grants, and for those in what
// one grants: the widest rule is where looking begins, since a workspace that lies
// in a node_modules is a workspace like others. entries are sorted.
func InPackage(entries []Entry, file string) bool {
	for _, e := range entries {
		if e.Origin == OriginRule && e.Path != "/" && Within(file, e.Path) {
			return isExempt("/" + path.Base(e.Path) + file[len(e.Path):])
		}
	}
	return false
}

// isExempt tells a path below a node_modules, but for git directories: no package
// brings one along, and a prompt that asks git is enough to run what it names.
func isExempt(p string) bool {
	_, below, found := strings.Cut(p+"/", "/node_modules/")
	return found && !strings.Contains("/"+foldCase(below), "/.git/")
}

// ProtectedName reports whether a name, in whatever directory of a writable grant,
// is one that the host executes or trusts what it holds.
func ProtectedName(name string) bool {
	_, protected := ProtectedParts(foldCase(name))
	return protected
}

// foldCase is a path as filesystems see its names that fold case: they also take ligatures
// apart, and leave out what does not show (Linux: fs/unicode, which ext4 and f2fs go by).
// The dots and spaces at the end of a name are none to vfat, exfat and SMB.
func foldCase(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		s = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
		s = strings.NewReplacer("\u017f", "s", "\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st").Replace(s)
	}
	s = strings.ToLower(s)
	if !strings.Contains(s, "./") && !strings.Contains(s, " /") && strings.TrimRight(s, ". ") == s {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		names[i] = cmp.Or(strings.TrimRight(name, ". "), name)
	}
	return strings.Join(names, "/")
}

// MediateAttributes decides whether a server may change the mode, the owner, the
// times or the attributes of what a canonical path leads to: where it may write at
// all. Unlike Mediate it refuses paths that no entry covers.
func (p *Profile) MediateAttributes(path string) Verdict {
	e, ok := p.Find(path)
	// What holds for anything in the path holds for the path: a directory that only
	// leads to a protected name, such as .git, may change.
	if !ok || e.Rights&Write == 0 || p.Protects(OpWrite, strings.TrimSuffix(path, "/")+"/.") {
		return Forbidden
	}
	return Granted
}

// WidensRights reports whether a file would have more rights at dst than it has at src.
func (p *Profile) WidensRights(src, dst string) bool { return p.RightsAt(dst)&^p.RightsAt(src) != 0 }
