package resolve

import (
	"io/fs"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/git"
)

// masks take rights away inside grants: they hide what is sensitive, and keep what is protected from
// being written.
type masks struct {
	*facts
	targets  []ruleTarget
	searched map[string]bool
	git      *git.Protector

	unprotected map[string]bool // Profile.Unprotected
	hiddenLater []string        // Profile.HiddenLater
	linksAstray bool            // Profile.LinksAstray
}

func (b *resolver) newMasks() *masks {
	m := &masks{facts: b.facts, targets: b.targets, searched: b.searched, unprotected: map[string]bool{}}
	m.git = git.New(b.h, b.paths, git.Calls{Protect: m.protectPath, List: m.list, Writes: b.entries.grantsWrite, Warn: func(code, format string, args ...any) {
		b.warnings.warn(code, b.p.Where, format, args...)
	}})
	return m
}

func (b *masks) protectFixed() {
	b.protectDeciding()
	b.git.ProtectUserConfigured()
	for _, own := range append(b.places.OwnDirs(), b.places.TrustedFiles()...) {
		b.protectPath(own, own)
	}
	b.warnOwn()
}

// warnOwn warns of rules that let the server write to files or directories of mcp-jail itself. A rule
// that names one grants it, as with every protected name.
func (b *masks) warnOwn() {
	for _, own := range append(b.places.OwnDirs(), b.places.TrustedFiles()...) {
		for _, n := range b.targets {
			if n.rule.Rights()&policy.Write != 0 && policy.Within(n.canonical, b.paths.Canonical(own)) {
				b.warnings.warn("own-granted", n.rule.Where, "path = %s is mcp-jail's own (%s): the server can decide there what mcp-jail grants, to itself and to all other servers", show.TOML(n.rule.Path), own)
			}
		}
	}
}

// protectPath takes the write rights from one path inside a writable grant, unless a rule
// names it. A path that does not exist must not be created.
func (b *masks) protectPath(abs, named string) {
	if e, ok := b.entries.find(abs); !ok || e.Rights&policy.Write == 0 {
		// The name itself cannot be written, but its link target perhaps can.
		if at, err := b.paths.Resolve(abs); err != nil || at.Path == abs {
			return
		}
	}
	at, err := b.paths.Resolve(abs)
	if err != nil {
		return
	}
	for _, l := range at.Links {
		// A link cannot be mounted over: replacing it must be refused by name.
		if e, ok := b.entries.find(l.Path); ok && e.Rights.Has(policy.Create) && e.Origin != policy.OriginHome {
			b.unprotected[l.Path] = true
		}
	}
	e, ok := b.entries.find(at.Path)
	if !ok || e.Rights&policy.Write == 0 || e.Origin == policy.OriginHome {
		return
	}
	if e.Path == at.Path && (e.Origin == policy.OriginRule || e.Origin == policy.OriginProtected) {
		return // a rule for exactly this path, or done already
	}
	if at.Unsearchable != "" {
		b.hideUnreadable(at.Unsearchable)
		return
	}
	if !at.Exists() {
		b.denyCreate(policy.Entry{Path: at.Path, Rights: e.Rights &^ policy.Write, Origin: policy.OriginProtected, Named: named, Rule: "protected: " + named}, e)
		return
	}
	kind, rights := hostfs.KindOf(at.Info.Mode), e.Rights&^policy.Write
	if kind == policy.KindSpecial {
		rights = 0 // a mount does not make it read-only. A sandbox around this one covers such names with /dev/null.
	}
	b.entries[at.Path] = policy.Entry{Path: at.Path, Kind: kind, Rights: rights, Origin: policy.OriginProtected, Named: named, Rule: "protected: " + named, ID: at.Info.ID}
}

// protectBaseline takes the write rights from baseline entries that lie below something
// protected. Such an entry has the rights of the rule around both, and would give back the rights
// that the protection took: a server's own file may lie in .claude/hooks.
func (b *masks) protectBaseline() {
	var below []string
	for p, e := range b.entries {
		if e.Origin == policy.OriginBaseline && e.Rights&policy.Write != 0 && p != "/" {
			below = append(below, p)
		}
	}
	slices.Sort(below) // directories before their content
	for _, p := range below {
		e := b.entries[p]
		near, _ := b.entries.find(path.Dir(p))
		e.Rights &^= policy.Write &^ near.Rights
		b.entries[p] = e
	}
}

// denyCreate keeps a missing path inside holder from being created, and from being changed if the
// host makes it: it lists the path as unprotected. If it must not be read either, denyCreate lists
// it as hidden later. If a directory below the path is created before the start, the path exists by
// then and becomes an entry.
func (b *masks) denyCreate(e, holder policy.Entry) {
	// mcp-jail itself will make a directory below, so the path will exist: it gets an entry.
	for _, made := range b.entries {
		if made.Make && made.Path != e.Path && policy.Within(made.Path, e.Path) {
			e.Kind, e.Make = policy.KindDir, true
			b.entries[e.Path] = e
			return
		}
	}
	if holder.Origin == policy.OriginHome {
		return
	}
	if holder.Rights&policy.Write != 0 {
		b.unprotected[e.Path] = true
	}
	if holder.Rights.Has(policy.Read) && !e.Rights.Has(policy.Read) {
		b.hiddenLater = append(b.hiddenLater, e.Path)
	}
}

func (b *masks) protectName(dir, name string, typ fs.FileMode) {
	abs := path.Join(dir, name)
	below, _ := policy.ProtectedParts(name)
	if below == nil {
		b.protectPath(abs, name)
		return
	}
	switch {
	case typ.IsDir():
		for _, n := range below {
			// Packages often contain a .github, but workflows only run from the root
			// of a repository. So missing parts of .github are protected in the roots
			// of grants only: see scan.
			if name == ".github" && !b.paths.Exists(path.Join(abs, n)) {
				continue
			}
			b.protectPath(path.Join(abs, n), path.Join(name, n))
		}
		if name == ".git" {
			b.git.ProtectInternals(abs)
			b.git.ProtectConfigured(abs, dir)
		}
	case typ&fs.ModeSymlink != 0:
		at, err := b.paths.Resolve(abs)
		if err != nil {
			return
		}
		// The link is protected. Of its target, the parts are protected, not the whole.
		b.protectPath(abs, name)
		if e, ok := b.entries[at.Path]; ok && e.Origin == policy.OriginProtected {
			delete(b.entries, at.Path)
		}
		if name == ".git" {
			b.git.ProtectDir(at.Path, "")
			b.git.ProtectConfigured(at.Path, dir)
			return
		}
		for _, n := range below {
			b.protectPath(path.Join(at.Path, n), path.Join(name, n))
		}
	case name == ".git":
		b.protectPath(abs, name)
		b.git.ProtectLinkFile(abs)
	}
}
