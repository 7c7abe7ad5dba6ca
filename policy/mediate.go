package policy

import (
	"path"
	"slices"
	"strings"
)

// Some rules cannot be enforced by mounts and Landlock. Mediation enforces them by name, one
// call at a time: for names that must not be created in a writable grant, and for names whose
// mount is gone because the host replaced the file below it.

// Verdict is the decision of Mediate about one operation.
type Verdict uint8

const (
	Forbidden Verdict = iota // a right is missing, or the name is one that must not change
	Pinned                   // the name carries an entry, or leads to one: it stays where it is
	Crossing                 // the object would have more rights under its new name: refused as between two mounts
	Granted                  // as far as the profile is concerned
)

// Mediate decides an operation that a server tries on a path. Unlike Allows, it grants
// operations on paths that no entry covers: those exist only in the jail, or not at all.
//
// name must be a canonical path except for its last component, which is not followed.
func (p *Profile) Mediate(op Op, name string) Verdict {
	switch op {
	case OpAttributes: // may change where the server may write, and not at paths that no entry covers
		// The path is checked as if it were the directory of a name to write. A directory that
		// only contains protected names, such as .git, may change.
		if e, ok := p.Find(name); !ok || e.Rights&Write == 0 || p.Protects(OpWrite, strings.TrimSuffix(name, "/")+"/.") {
			return Forbidden
		}
		return Granted
	case OpSymlink:
		if op = OpCreate; p.ProtectsFromLink(name) {
			return Forbidden
		}
	}
	_, covered := p.Find(name)
	around := p.RightsAt(path.Dir(name))
	switch {
	case !covered || p.Allows(op, name):
		return Granted
	case (op == OpCreate || op == OpMkdir) && around.Has(Create) && p.containsEntry(name), op == OpRemove && around.Has(Delete) && p.containsEntry(name):
		return Pinned
	}
	return Forbidden
}

// Protects reports whether a path inside a writable grant is, or lies below, a name that
// must not be created or changed: a name in Unprotected, or a protected name in any
// directory, in any spelling that a filesystem without case takes for it.
func (p *Profile) Protects(op Op, path string) bool {
	switch op {
	case OpWrite, OpTruncate, OpCreate, OpMkdir, OpRemove:
	default:
		return false
	}
	folded := foldCase(path)
	for _, u := range p.Unprotected {
		u = foldCase(u)
		// If a directory on the way to such a name is missing, only a directory may be
		// made in its place. A symbolic link there could lead to a directory that has the name.
		if Within(folded, u) || op == OpCreate && Within(u, folded) {
			return true
		}
	}
	e, ok := p.Find(path)
	return ok && e.Origin != OriginHome && e.Path != path && p.hasProtectedPart(path, op) && !p.InPackage(path)
}

// ProtectsFromLink reports whether no symbolic link may be made at a path: the directories in which
// git keeps the git directories of worktrees and submodules, and those in a name that is hidden at any
// depth. Programs would follow the link to a directory in which the server may write each file.
func (p *Profile) ProtectsFromLink(name string) bool {
	e, ok := p.Find(name)
	return ok && e.Origin != OriginHome && (p.InGitInternals(name) || p.leadsToHidden(path.Base(name)))
}

// MediateLink decides about a second name dst for the file src, by OpCreate or OpSymlink as its kind is.
// mounts reports that mounts hold what entries take away inside a grant. No mount lies on a file that the host
// has made or replaced since the start.
func (p *Profile) MediateLink(op Op, src, dst string, mounts bool) Verdict {
	if v := p.Mediate(op, dst); v != Granted {
		return v
	}
	if p.Mediate(OpWrite, src) != Granted && p.Mediate(OpWrite, dst) == Granted || !mounts && p.widensRights(src, dst) {
		return Crossing
	}
	return Granted
}

// MediateRename decides a rename from src, which exists, to dst. holds describes the object
// that is moved: holds("") reports whether it is a directory, holds("@") whether it is a symbolic
// link, holds(name) whether it contains that name, and holds("**") whether it contains a
// protected name at any depth. mounts is as in MediateLink.
func (p *Profile) MediateRename(src, dst string, holds func(name string) bool, mounts bool) Verdict {
	if v := p.mediateRename(src, dst, holds); v != Granted || mounts || !p.widensRights(src, dst) {
		return v
	}
	return Crossing
}

func (p *Profile) mediateRename(src, dst string, holds func(name string) bool) Verdict {
	// A rename is a removal here and a creation there.
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
		if u = foldCase(u); Within(u, foldCase(dst)) || Within(u, foldCase(src)) {
			return Forbidden // would bring the name into being, or let another take its place
		}
	}
	e, ok := p.Find(dst)
	switch {
	case !ok || e.Origin == OriginHome:
		return Granted
	case op == OpCreate:
		if holds("@") && p.ProtectsFromLink(dst) {
			return Forbidden
		}
		return Granted
	}
	// A directory may not bring protected parts along under the name that makes them count.
	below, _ := ProtectedParts(foldCase(path.Base(dst)))
	if e.Path != dst && slices.ContainsFunc(below, holds) || p.InGitInternals(dst) {
		return Forbidden
	}
	// If the object has protected names below it, two moves are refused: out of a tree where such
	// names may be created, and into a node_modules, where the server could change them. A move
	// from one node_modules to another is neither.
	from, into := p.InPackage(src), p.InPackage(dst)
	if (p.isUnprotectedTree(src) || into || p.leadsToHidden(path.Base(dst))) && !(from && into) && holds("**") {
		return Forbidden
	}
	return Granted
}

func (p *Profile) isUnprotectedTree(path string) bool {
	e, ok := p.Find(path)
	return ok && e.Origin == OriginHome || p.InPackage(path)
}

// EntersProtected reports whether a rename leads from a tree where protected names may be
// created to one where they may not.
func (p *Profile) EntersProtected(src, dst string) bool {
	return p.isUnprotectedTree(src) && !p.isUnprotectedTree(dst)
}

// InPackage reports whether a file is exempt as part of a package: in a granted
// node_modules, or in one below a grant. It starts at the widest rule that lets the server write,
// so a workspace inside a node_modules directory is still a workspace.
//
// git directories are not exempt. No package contains one, and a prompt that calls git would run
// the programs that its configuration names. In .git/modules, a submodule named node_modules has
// its git directory.
func (p *Profile) InPackage(file string) bool {
	for _, e := range p.Entries {
		if e.Origin == OriginRule && e.Rights&Write != 0 && e.Path != "/" && Within(file, e.Path) {
			return strings.Contains("/"+path.Base(e.Path)+file[len(e.Path):]+"/", "/node_modules/") && !p.inGitDir(file)
		}
	}
	return false
}

// ProtectedName reports whether the host executes a file of this name or trusts its
// content, or may find it hidden. Such names are protected in every directory of a writable grant.
func (p *Profile) ProtectedName(name string) bool {
	name = foldCase(name)
	_, protected := ProtectedParts(name)
	return protected || p.hiddenPart([]string{name}) > 0 || slices.ContainsFunc(p.Hidden, func(hidden string) bool {
		dir, last := path.Split(foldCase(hidden))
		return dir != "" && matchParts([]string{last}, []string{name})
	})
}

// widensRights reports whether a file would have more rights at dst than at src. Landlock refuses such a move,
// but does not know of the entries that take rights away inside a grant.
func (p *Profile) widensRights(src, dst string) bool { return p.RightsAt(dst)&^p.RightsAt(src) != 0 }
