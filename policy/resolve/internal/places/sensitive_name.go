package places

import (
	"cmp"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Sensitive returns the sensitive path that a path is, leads to or lies in, as it is written; "" if
// there is none. It is the one answer to that question: of a start, of advice, and of
// the review of a client's entry. The policy has the user's paths and the files of secrets. Beside
// what a start hides, Sensitive knows mcp-jail's own directories, what only root reads, and the keys
// of other users. It does not know the short names of Windows (SSH~1): only the drive can say what each
// stands for. Rules, and words that wrap would make rules, may not have them: see [winpath.Clean].
func Sensitive(h *hostfs.Host, p *policy.Policy, name string) string {
	h = h.Slashed()
	if !strings.HasPrefix(h.Dir, "/") || !strings.HasPrefix(h.Home, "/") {
		return "" // no server starts there: see ErrPlatform
	}
	return AsWritten(h, newAdviser(h, p).sensitive(name))
}

// AsWritten returns a place of a host with the form that the host's own paths have.
func AsWritten(h *hostfs.Host, place string) string {
	if native, ok := winpath.FromSlashed(place); ok && h.OS == "windows" {
		return native
	}
	return place
}

func (b *Places) sensitive(name string) string {
	abs, _ := b.Expand(name, b.h.Dir)
	at := b.paths.Canonical(abs)
	if s := b.SensitiveAround(at); s != "" {
		return s
	}
	for _, dir := range append(b.OwnDirs(), UsualDirs(b.h)...) {
		if b.liesIn(at, b.paths.Canonical(dir)) {
			return b.Abbreviate(dir)
		}
	}
	for p := range hostfs.Upward(abs) { // a link may have the name
		if s := b.sensitiveByName(p); s != "" {
			return s
		}
	}
	return cmp.Or(sensitiveElsewhere(Folded(b.h, at)), sensitiveElsewhere(Folded(b.h, abs)))
}

func newAdviser(h *hostfs.Host, p *policy.Policy) *Places {
	b := New(p, h, hostfs.NewLinkResolver(h))
	b.Collect()
	return b
}

// SensitiveAround returns the sensitive path that a canonical path is or lies in, as it is written, or
// "". Like [Guarded], it compares objects, and names without regard to case.
func (b *Places) SensitiveAround(p string) string {
	for p := range hostfs.Upward(p) {
		if s := b.sensitiveByName(p); s != "" {
			return s
		}
		if at := b.paths.Lstat(p); at.Err == nil {
			if s, ok := b.named.objects[at.Info.ID]; ok {
				return s
			}
		}
	}
	return ""
}

func (b *Places) sensitiveByName(p string) string {
	if b.named == nil {
		b.collectPlaces()
	}
	if s, ok := b.named.names[strings.ToLower(p)]; ok {
		return s
	}
	dir, name := hostfs.Split(Folded(b.h, p))
	for _, pattern := range b.named.patterns {
		if pattern.Matches(dir, name) {
			return pattern.Text
		}
	}
	return ""
}

// sensitivePlaces are the sensitive paths by what they lead to, and the patterns of names.
type namedPlaces struct {
	names    map[string]string // canonical, in small letters, to the written path
	objects  map[policy.FileID]string
	patterns []Pattern
}

func (b *Places) collectPlaces() {
	b.named = &namedPlaces{map[string]string{}, map[policy.FileID]string{}, b.Patterns()}
	for _, s := range b.ListSensitive() {
		dir, base, ok := s.Pattern()
		if !ok {
			b.addPlace(s.Written, s.Abs)
			continue
		}
		dir = b.paths.Canonical(dir)
		base = Folded(b.h, base)
		b.named.patterns = append(b.named.patterns, Pattern{Text: s.Written, dir: Folded(b.h, dir), Parts: []string{base}})
		names, _ := b.paths.Names(dir)
		for _, name := range names { // some are links
			if MatchName(base, Folded(b.h, name)) {
				b.addPlace(s.Written, path.Join(dir, name))
			}
		}
	}
}

// addPlace adds a place, unless it is the home directory or lies around it: that holds everything.
func (b *Places) addPlace(written, abs string) {
	at := b.paths.Canonical(abs)
	if within(b.h, b.paths.Canonical(b.h.Home), at) {
		return
	}
	b.named.names[strings.ToLower(at)] = written
	if to := b.paths.Lstat(at); to.Err == nil && to.Info.ID != (policy.FileID{}) {
		b.named.objects[to.Info.ID] = written
	}
}

// rootSecrets are files and directories of secrets that their modes keep from the user. So no start
// must hide them.
var rootSecrets = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/krb5.keytab", "/etc/wireguard", "/var/lib/sss",
	"/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d", "/private/etc/ssh", "/private/etc/krb5.keytab", "/private/var/db/dslocal", "/private/var/db/SystemKey", "/private/var/root"}

// sensitiveElsewhere returns the part of a path that is a secret of root, or a directory of keys as
// each user, or a copy of a home directory, has one; "" if none is.
func sensitiveElsewhere(p string) string {
	for _, place := range rootSecrets {
		if policy.Within(p, place) {
			return place
		}
	}
	for name := range strings.SplitSeq(p, "/") {
		switch name {
		case ".ssh", ".gnupg", ".gpg", ".aws", ".azure", ".kube", ".password-store", ".netrc", ".git-credentials":
			return "**/" + name
		}
	}
	return ""
}
