package masks

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// Apply takes away what is sensitive or protected.
func (b *Masks) Apply() {
	b.HideSensitive()
	b.protectFixed()
	b.scan()
}

// HideSensitive takes every right from sensitive paths that no rule names.
func (b *Masks) HideSensitive() {
	b.stopNames()
	for _, s := range b.Places.ListSensitive() {
		b.hidePattern(s)
		if at, err := b.Paths.Resolve(s.Abs); err == nil && s.Secret {
			b.hideLinks(at.Links, s.Written) // also where they lead out of every grant
		}
	}
	// The policies of servers; their HOMEs, and the records of their sessions. The variables of this process may not be those of the
	// user's shell, so the usual places are hidden as well.
	for _, dir := range append([]string{b.Host.ConfigDir, b.Host.StateDir}, places.UsualDirs(b.Host)...) {
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
func (b *Masks) hidePattern(s places.Place) {
	dir, base, ok := s.Pattern()
	if !ok {
		b.hideSensitivePath(s.Written, s.Abs)
		return
	}
	for _, name := range b.list(dir) {
		if places.MatchName(base, name) {
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
// path below it (docs/protected.md "Sensitive paths").
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
	b.Warn("sensitive-masked", r.Where, "path = %s leads to the sensitive path %s, which only a rule that names it grants: it stays hidden", show.TOML(r.Path), written)
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
				b.Warn("sensitive-granted", n.Rule.Where, "path = %s names a sensitive path (%s): the server will be able to %s %s", show.TOML(n.Rule.Path), s.Written, rightsText(n.Rule.Rights()), n.Canonical)
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
