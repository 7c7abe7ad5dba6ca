package places

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Given is what masks are made from.
type Given struct {
	Policy   *policy.Policy
	Host     *hostfs.Host
	Paths    *hostfs.LinkResolver
	Places   *Places
	Entries  EntrySet        // which the masks change
	Targets  []Target        // the rules whose path exists or is made
	Searched map[string]bool // baseline entries to search for .env files
	Warn     func(code, where, format string, args ...any)
	// Names reports whether a rule names the denial at a canonical path, which is also written otherwise.
	Names func(n Target, denial string, written []string) bool
}

// A Stop is a built-in denial: rights from above stop there.
type stop struct {
	Takes   policy.Rights // AllRights of a sensitive path, Write of a protected name
	Written string        // for messages
	Abs     []string      // its paths before links are followed
}

// Masks are those of one profile.
type Masks struct {
	Given

	Stops       map[string]*stop // by their canonical paths
	Git         *git
	Unprotected map[string]bool // Profile.Unprotected
	LinksAstray bool            // Profile.LinksAstray
}

// NewMasks returns masks that are not applied yet.
func NewMasks(g Given) *Masks {
	m := &Masks{Given: g, Stops: map[string]*stop{}, Unprotected: map[string]bool{}}
	m.Git = &git{Masks: m, settings: map[string][]setting{}, done: map[[2]string]bool{}}
	return m
}

// stopNames finds the denials around the rules themselves. A link may have led a rule there, and then no
// search begins above it.
func (b *Masks) stopNames() {
	patterns, granted := b.Places.patterns(), policy.Profile{Entries: b.Entries.Sorted()}
	for _, n := range b.Targets {
		if b.Entries[n.Canonical].Kind == policy.KindSpecial && b.Paths.Lstat(n.Canonical).Info.Mode&fs.ModeSocket != 0 {
			b.stop(n.Canonical, n.Canonical, HostSocket, policy.AllRights)
		}
		for p := n.Canonical; p != path.Dir(p); p = path.Dir(p) {
			for _, pattern := range patterns {
				if pattern.matches(path.Dir(p), path.Base(p)) {
					b.stop(p, p, pattern.Text, policy.AllRights)
				}
			}
			if below, protected := policy.ProtectedParts(path.Base(p)); protected && below == nil && !granted.InPackage(p) {
				b.stop(p, p, path.Base(p), policy.Write)
			}
		}
	}
}

// leadsInto reports whether a rule grants something to write at a path or in it.
func (b *Masks) leadsInto(p string) bool {
	return slices.ContainsFunc(b.Targets, func(n Target) bool { return n.Rule.Rights()&policy.Write != 0 && policy.Within(n.Canonical, p) })
}

func (b *Masks) stop(at, abs, written string, takes policy.Rights) {
	s := b.Stops[at]
	if s == nil {
		s = &stop{}
		b.Stops[at] = s
	}
	if s.Takes |= takes; s.Written == "" || takes == policy.AllRights {
		s.Written = written
	}
	s.Abs = append(s.Abs, abs)
}

// Apply takes away what is sensitive or protected.
func (b *Masks) Apply() {
	b.HideSensitive()
	b.protectFixed()
	b.scan()
}

// HideSensitive takes every right from sensitive paths that no rule names.
func (b *Masks) HideSensitive() {
	b.stopNames()
	for _, s := range b.Places.listSensitive() {
		b.hidePattern(s)
		if at, err := b.Paths.Resolve(s.Abs); err == nil && s.Secret {
			b.hideLinks(at.Links, s.Written) // also where they lead out of every grant
		}
	}
	// The policies of servers; their HOMEs, and the records of their sessions. The variables of this process may not be those of the
	// user's shell, so the usual places are hidden as well.
	for _, dir := range append([]string{b.Host.ConfigDir, b.Host.StateDir}, usualDirs(b.Host)...) {
		if strings.HasPrefix(dir, "/") && dir != b.Host.CacheDir && dir != b.Host.DataDir {
			b.hideSensitivePath(dir, path.Clean(dir))
		}
	}
	for _, dir := range []string{b.Host.CacheDir, b.Host.DataDir} {
		if strings.HasPrefix(dir, "/") {
			b.hideOwn(path.Clean(dir))
		}
	}
	for _, p := range b.Host.PseudoMounts { // of a container or chroot: root commands the kernel by writing there
		b.hideSensitivePath(p, p)
	}
	b.judgeTargets()
}

// hidePattern calls hideSensitivePath for each name that matches the last component.
func (b *Masks) hidePattern(s place) {
	dir, base, ok := s.pattern()
	if !ok {
		b.hideSensitivePath(s.Written, s.Abs)
		return
	}
	for _, name := range b.list(dir) {
		if matchName(base, name) {
			b.hideSensitivePath(s.Written, path.Join(dir, name))
		}
	}
}

// hideOwn masks the cache directory, which has cached answers of servers, or the data directory,
// which has the installed packages. A server that could write there would answer in the name of
// others, or be run in their place. If the directory does not exist, it is created before the
// start, because another session may create it inside the grant while this one runs.
func (b *Masks) hideOwn(dir string) {
	b.hideSensitivePath(dir, dir)
	at, err := b.Paths.Resolve(dir)
	if err != nil || at.Exists() || at.Reason != "" {
		return
	}
	if e, ok := b.Entries.Find(at.Path); ok && e.Rights != 0 && e.Origin != policy.OriginHome && e.Path != at.Path {
		delete(b.Unprotected, at.Path)
		b.Entries[at.Path] = policy.Entry{Path: at.Path, Kind: policy.KindDir, Origin: policy.OriginSensitive, Named: dir, Rule: "sensitive: " + dir, Make: true}
	}
}

// list returns the names in a directory, sorted. It hides one that cannot be read.
func (b *Masks) list(dir string) (names []string) {
	at, err := b.Paths.Resolve(dir)
	if err != nil {
		return nil
	}
	if at.Unsearchable != "" {
		b.HideUnreadable(at.Unsearchable)
	}
	if !at.Exists() {
		return nil
	}
	if names, err = b.Paths.Names(at.Path); err != nil && at.Info.Mode.IsDir() {
		b.HideUnreadable(at.Path)
	}
	return names
}

// hideSensitivePath masks one path in every grant, unless a rule with rights names it or a
// path below it (docs/policy.md "Sensitive paths").
func (b *Masks) hideSensitivePath(written, abs string) {
	at, err := b.Paths.Resolve(abs)
	if err != nil {
		return
	}
	b.stop(at.Path, abs, written, policy.AllRights)
	e, ok := b.Entries.Find(at.Path)
	if ok && e.Rights != 0 && e.Origin != policy.OriginHome && e.Path != at.Path {
		b.put(at, e, policy.Entry{Origin: policy.OriginSensitive, Named: written, Rule: "sensitive: " + written}) // ~/.ssh/authorized_keys must not come into being
		if at.Exists() {
			b.hideLinks(at.Links, written)
		}
	}
}

// WarnMasked warns of a rule that leads to a sensitive path and does not name it.
func (b *Masks) WarnMasked(r policy.FsRule, written string) {
	b.Warn("sensitive-masked", r.Where, "path = %s leads to the sensitive file %s, which only a rule that names it grants: it stays hidden", show.TOML(r.Path), written)
}

// hideLinks also masks the symbolic links that lead to a hidden path, if the server could
// remove them. Without a link, the next start would not find the path.
func (b *Masks) hideLinks(links []policy.Link, named string) {
	for _, l := range links {
		e, ok := b.Entries.Find(path.Dir(l.Path))
		if !ok || e.Rights&(policy.Create|policy.Delete) == 0 || e.Origin == policy.OriginHome {
			continue
		}
		info := b.Paths.Lstat(l.Path).Info
		b.Entries[l.Path] = policy.Entry{Path: l.Path, Kind: policy.KindSpecial, Origin: policy.OriginSensitive, Named: named, Rule: "sensitive: " + named, ID: info.ID}
	}
}

// judgeTargets warns of rules that name a sensitive path, which grants it, and takes the rights of those that name
// another path, from which a symbolic link leads there, or that mcp-jail made.
func (b *Masks) judgeTargets() {
	for _, n := range b.Targets {
		if n.Rule.Rights() == 0 {
			continue
		}
		for p := range hostfs.Upward(n.Canonical) {
			s := b.Stops[p]
			switch {
			case s == nil || s.Takes != policy.AllRights || s.Written == HostSocket:
			case b.Names(n, p, s.Abs):
				b.Warn("sensitive-granted", n.Rule.Where, "path = %s names a sensitive file (%s): the server will be able to %s %s", show.TOML(n.Rule.Path), s.Written, rightsText(n.Rule.Rights()), n.Canonical)
			default:
				b.WarnMasked(n.Rule, s.Written)
				b.Entries.Empty(n.Canonical, s.Written)
			}
		}
	}
}

func rightsText(r policy.Rights) string {
	var words []string
	for _, n := range policy.RightNames {
		if r.Has(n.Right) {
			words = append(words, n.Name)
		}
	}
	return strings.Join(words, ", ")
}

// maxFollowed bounds the symbolic links of grants whose targets are looked up. Each lookup
// costs a few system calls of the start.
const maxFollowed = 1000

func (b *Masks) findLinksAstray(hits []match) {
	followed := 0
	for _, h := range hits {
		if h.pattern != linkPattern {
			continue
		}
		if followed++; b.LinksAstray || followed > maxFollowed {
			return
		}
		at, err := b.Paths.Resolve(path.Join(h.dir, h.name))
		if err != nil || !at.Exists() {
			continue
		}
		e, covered := b.Entries.Find(at.Path)
		b.LinksAstray = (!covered || e.Rights == 0) && (e.Origin == policy.OriginSensitive || b.Places.SensitiveAround(at.Path) != "")
	}
}

// HideUnreadable hides a directory that cannot be searched. Its content cannot be judged,
// but the server could reach it by chmod, as its owner, or by guessing names. Otherwise a
// server could close a directory in one session and open it in the next: the scan of the next
// start would find nothing there to hide.
func (b *Masks) HideUnreadable(dir string) {
	for ; ; dir = path.Dir(dir) {
		e, ok := b.Entries.Find(dir)
		if !ok || e.Rights == 0 || e.Origin == policy.OriginHome || e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.Entries.insideRule(e.Path) {
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

// An EntrySet has the entries of one profile by their paths. It is a map, because the entries are few
// and change while they are collected.
type EntrySet map[string]policy.Entry

// Find is Profile.Find on the entries collected so far.
func (b EntrySet) Find(p string) (policy.Entry, bool) {
	for {
		e, ok := b[p]
		dir, _ := hostfs.Split(p)
		if ok || dir == p || dir == "." { // a path of Windows has no slash
			return e, ok
		}
		p = dir
	}
}

// Sorted returns the entries by their paths.
func (b EntrySet) Sorted() []policy.Entry {
	out := make([]policy.Entry, 0, len(b))
	for _, e := range b {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// insideRule reports whether the nearest rule around a path grants something.
func (b EntrySet) insideRule(p string) bool {
	for p != path.Dir(p) {
		p = path.Dir(p)
		if e, ok := b[p]; ok && e.Origin == policy.OriginRule {
			return e.Rights != 0
		}
	}
	return false
}

// rightsAround returns the rights of all entries around a path together.
func (b EntrySet) rightsAround(p string) (rights policy.Rights) {
	for p != path.Dir(p) {
		p = path.Dir(p)
		rights |= b[p].Rights
	}
	return rights
}

// grantsWrite reports whether a rule grants a right to write.
func (b EntrySet) grantsWrite() bool {
	for _, e := range b {
		if e.Origin == policy.OriginRule && e.Rights&policy.Write != 0 {
			return true
		}
	}
	return false
}

// Empty takes every right from an entry, if there is one, because its path is sensitive.
func (b EntrySet) Empty(p, written string) {
	if e, ok := b[p]; ok {
		e.Rights, e.Origin, e.Named, e.Rule, e.Make, e.Ephemeral = 0, policy.OriginSensitive, written, "sensitive: "+written, false, false
		b[p] = e
	}
}

// A Target is a rule with the path that it leads to.
type Target struct {
	Rule      policy.FsRule
	Lexical   string // absolute and clean, symbolic links not followed
	Canonical string
	Links     []policy.Link // crossed on the way
}
