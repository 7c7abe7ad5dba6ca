package places

import (
	"io/fs"
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func (b *Masks) protectFixed() {
	b.protectDeciding()
	b.Git.protectNamed(nil, tree{})
	for _, own := range append(b.Places.OwnDirs(), b.Places.TrustedFiles()...) {
		b.protectPath(own, own)
	}
}

// protectPath takes the write rights from one path inside a writable grant, unless a rule
// names it. A path that does not exist must not be created.
func (b *Masks) protectPath(abs, named string) {
	at, err := b.Paths.Resolve(abs)
	if err != nil {
		return
	}
	for _, l := range at.Links {
		// A link cannot be mounted over: replacing it must be refused by name.
		if e, ok := b.Entries.Find(l.Path); ok && e.Rights.Has(policy.Create) && e.Origin != policy.OriginHome {
			b.Unprotected[l.Path] = true
		}
	}
	e, ok := b.Entries.Find(at.Path)
	if b.leadsInto(at.Path) || ok && e.Rights&policy.Write != 0 {
		b.stop(at.Path, abs, named, policy.Write)
	}
	if !ok || e.Rights&policy.Write == 0 || e.Origin == policy.OriginHome {
		return
	}
	if e.Path != at.Path || e.Origin != policy.OriginRule && e.Origin != policy.OriginProtected { // a rule for exactly this path, or done already
		b.put(at, e, policy.Entry{Rights: e.Rights &^ policy.Write, Origin: policy.OriginProtected, Named: named, Rule: "protected: " + named})
	}
}

// put gives the rights of an entry to a path inside another entry, which has more of them.
func (b *Masks) put(at hostfs.ResolvedPath, around, e policy.Entry) {
	e.Path = at.Path
	switch {
	case at.Unsearchable != "":
		b.HideUnreadable(at.Unsearchable)
	case !at.Exists():
		b.DenyCreate(e, around)
	default:
		if e.Kind, e.ID = hostfs.KindOf(at.Info.Mode), at.Info.ID; e.Kind == policy.KindSpecial {
			e.Rights = 0 // a mount does not make it read-only. A sandbox around this one covers such names with /dev/null.
		}
		b.Entries[at.Path] = e
	}
}

// DenyCreate keeps a missing path inside holder from being created, and from being changed if the
// host makes it: it lists the path as unprotected. If a directory below the path is created before the start,
// the path exists by then and becomes an entry.
func (b *Masks) DenyCreate(e, holder policy.Entry) {
	// mcp-jail itself will make a directory below, so the path will exist: it gets an entry.
	for _, made := range b.Entries {
		if made.Make && made.Path != e.Path && policy.Within(made.Path, e.Path) {
			e.Kind, e.Make = policy.KindDir, true
			b.Entries[e.Path] = e
			return
		}
	}
	if holder.Origin != policy.OriginHome && holder.Rights&policy.Write != 0 {
		b.Unprotected[e.Path] = true
	}
}

func (b *Masks) protectName(dir, name string, typ fs.FileMode) {
	abs := path.Join(dir, name)
	below, _ := policy.ProtectedParts(name)
	if below == nil {
		b.protectPath(abs, name)
		return
	}
	if typ&fs.ModeSymlink != 0 {
		at, err := b.Paths.Resolve(abs)
		if err != nil {
			return
		}
		// The link is protected. Of its target, the parts are protected, not the whole.
		b.protectPath(abs, name)
		if e, ok := b.Entries[at.Path]; ok && e.Origin == policy.OriginProtected {
			delete(b.Entries, at.Path)
		}
		delete(b.Stops, at.Path)
		abs = at.Path
	}
	switch {
	case name == ".git" && (typ.IsDir() || typ&fs.ModeSymlink != 0):
		b.Git.repository(abs, dir)
	case name == ".git":
		b.protectPath(abs, name)
		b.Git.protectLinkFile(abs)
	case typ.IsDir() || typ&fs.ModeSymlink != 0:
		for _, n := range below {
			// Packages often contain a .github, but workflows only run from the root
			// of a repository. So missing parts of .github are protected in the roots
			// of grants only: see scan.
			if name != ".github" || typ&fs.ModeSymlink != 0 || b.Paths.Exists(path.Join(abs, n)) {
				b.protectPath(path.Join(abs, n), path.Join(name, n))
			}
		}
	}
}
