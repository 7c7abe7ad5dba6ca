package resolve

import (
	"cmp"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Sensitive returns the sensitive path that a path is, leads to or lies in, as it is written; "" if
// there is none. It is the one answer to that question: of a start, of advice, and of
// the review of a client's entry. The policy has the user's paths and the files of secrets. Beside
// what a start hides, Sensitive knows mcp-jail's own directories, what only root reads, and the keys
// of other users.
func Sensitive(h *hostfs.Host, p *policy.Policy, name string) string {
	if !strings.HasPrefix(h.Dir, "/") || !strings.HasPrefix(h.Home, "/") {
		return "" // no server starts there: see ErrPlatform
	}
	b := newAdviser(h, p)
	abs, _ := b.expand(name, h.Dir)
	at := b.canonical(abs)
	if s := b.sensitiveAround(at); s != "" {
		return s
	}
	for _, dir := range append(b.ownDirs(), defaultDirs(h)...) {
		if b.liesIn(at, b.canonical(dir)) {
			return b.abbreviate(dir)
		}
	}
	for p := abs; p != "/"; p = path.Dir(p) { // a link may have the name
		if s := b.sensitiveByName(p); s != "" {
			return s
		}
	}
	return cmp.Or(sensitiveElsewhere(at), sensitiveElsewhere(abs))
}

// newAdviser returns a resolver for questions about paths before there is a profile.
func newAdviser(h *hostfs.Host, p *policy.Policy) *resolver {
	b := &resolver{p: p, h: h, paths: hostfs.NewLinkResolver(h)}
	b.listBuiltin()
	b.collectDeciding()
	return b
}

// pattern returns the directory and the last component of a sensitive path whose last component is a
// pattern. ok is false for any other.
func (s sensitivePath) pattern() (dir, base string, ok bool) {
	dir, base = hostfs.Split(s.abs)
	return dir, base, !s.secret && strings.ContainsAny(base, "*?[")
}

// sensitiveAround returns the sensitive path that a canonical path is or lies in, as it is written, or
// "". Like [Guarded], it compares objects, and names without regard to case.
func (b *resolver) sensitiveAround(p string) string {
	for ; p != "/"; p = path.Dir(p) {
		if s := b.sensitiveByName(p); s != "" {
			return s
		}
		if at := b.paths.Lstat(p); at.Err == nil {
			if s, ok := b.places.objects[at.Info.ID]; ok {
				return s
			}
		}
	}
	return ""
}

// sensitiveByName returns the sensitive path that has a path's name, as it is written, or "".
func (b *resolver) sensitiveByName(p string) string {
	if b.places == nil {
		b.collectPlaces()
	}
	if s, ok := b.places.names[strings.ToLower(p)]; ok {
		return s
	}
	dir, name := hostfs.Split(p)
	for _, pattern := range b.places.patterns {
		if pattern.matches(dir, name) {
			return pattern.text
		}
	}
	return ""
}

// sensitivePlaces are the sensitive paths by what they lead to, and the patterns of names.
type sensitivePlaces struct {
	names    map[string]string // canonical, in small letters, to the written path
	objects  map[policy.FileID]string
	patterns []pattern
}

// collectPlaces collects the sensitive places, once.
func (b *resolver) collectPlaces() {
	b.places = &sensitivePlaces{map[string]string{}, map[policy.FileID]string{}, b.patterns()}
	for _, s := range b.listSensitive() {
		dir, base, ok := s.pattern()
		if !ok {
			b.addPlace(s.written, s.abs)
			continue
		}
		dir = b.canonical(dir)
		b.places.patterns = append(b.places.patterns, pattern{text: s.written, dir: dir, parts: []string{base}})
		for _, name := range b.entriesOf(dir) { // some are links
			if matchName(base, name) {
				b.addPlace(s.written, path.Join(dir, name))
			}
		}
	}
}

// addPlace adds a place, unless it is the home directory or lies around it: that holds everything.
func (b *resolver) addPlace(written, abs string) {
	at := b.canonical(abs)
	if policy.Within(b.canonical(b.h.Home), at) {
		return
	}
	b.places.names[strings.ToLower(at)] = written
	if to := b.paths.Lstat(at); to.Err == nil && to.Info.ID != (policy.FileID{}) {
		b.places.objects[to.Info.ID] = written
	}
}

// rootSecrets are files and directories of secrets that their modes keep from the user. So no start
// has to hide them.
var rootSecrets = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/krb5.keytab", "/etc/wireguard", "/var/lib/sss"}

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
