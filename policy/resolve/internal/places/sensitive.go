package places

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Pattern is a sensitive path of the form **/x/y, split.
type Pattern struct {
	Text    string
	dir     string // the only directory of such names; "" for any
	Parts   []string
	Builtin bool
}

// Matches reports whether dir/name is sensitive by this pattern.
func (p Pattern) Matches(dir, name string) bool {
	n := len(p.Parts)
	if !MatchName(p.Parts[n-1], name) || p.dir != "" && p.dir != dir {
		return false
	}
	if p.Builtin && slices.Contains(rows("sample", ""), name) {
		return false
	}
	for i := n - 2; i >= 0; i-- {
		if dir == "/" || !MatchName(p.Parts[i], path.Base(dir)) {
			return false
		}
		dir = path.Dir(dir)
	}
	return true
}

func MatchName(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, _ := path.Match(pattern, name) // checked by policy.CheckSensitivePath
	return ok
}

// Patterns returns the sensitive paths that match at any depth.
func (b *Places) Patterns() (out []Pattern) {
	for i, list := range [][]string{rows(sensitive, b.h.OS), b.p.Sensitive} {
		for _, s := range list {
			if rest, ok := strings.CutPrefix(s, "**/"); ok {
				out = append(out, Pattern{Text: s, Parts: strings.Split(folded(b.h, rest), "/"), Builtin: i == 0})
			}
		}
	}
	return out
}

// windowsHomes returns the home directories of Windows, in WSL if a rule leads to them: to ask for each path
// there is slow.
func (b *Places) windowsHomes() (homes []string) {
	const users = "/mnt/c/Users"
	if b.h.OS == "windows" {
		return []string{b.h.Home}
	}
	if b.h.OS != "linux" || !slices.ContainsFunc(b.p.Fs, func(r policy.FsRule) bool {
		abs, _ := b.Expand(r.Path, b.workspaceOrDir())
		return policy.Within(abs, users) || policy.Within(users, abs)
	}) || !b.paths.Exists(users) {
		return nil
	}
	names, _ := b.paths.Names(users)
	for _, name := range names {
		homes = append(homes, path.Join(users, name))
	}
	return homes
}

// ListSensitive returns the sensitive paths that have a fixed place: those that are built in, those
// of the user, and the files of secrets.
func (b *Places) ListSensitive() []Place {
	all := slices.Clone(b.Builtin)
	for _, s := range b.p.Sensitive {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.Expand(s, b.paths.Canonical(b.workspaceOrDir()))
			all = append(all, Place{Kind: sensitive, Written: s, Abs: abs})
		}
	}
	for _, s := range b.p.SecretFiles() {
		abs, _ := b.Expand(s, "/")
		all = append(all, Place{Kind: sensitive, Written: s, Abs: abs, Secret: true})
	}
	return all
}

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
	return AsWritten(h, newAdviser(h, p).Sensitive(name))
}

// AsWritten returns a place of a host with the form that the host's own paths have.
func AsWritten(h *hostfs.Host, place string) string {
	if native, ok := winpath.FromSlashed(place); ok && h.OS == "windows" {
		return native
	}
	return place
}

// Sensitive is the function Sensitive for places that are collected.
func (b *Places) Sensitive(name string) string {
	abs, _ := b.Expand(name, b.h.Dir)
	at := b.paths.Canonical(abs)
	if s := b.SensitiveAround(at); s != "" {
		return s
	}
	for _, dir := range b.allOwnDirs() {
		if b.liesIn(at, b.paths.Canonical(dir)) {
			return b.Abbreviate(dir)
		}
	}
	for p := range hostfs.Upward(abs) { // a link may have the name
		if s := b.sensitiveByName(p); s != "" {
			return s
		}
	}
	return cmp.Or(sensitiveElsewhere(folded(b.h, at)), sensitiveElsewhere(folded(b.h, abs)))
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
	dir, name := hostfs.Split(folded(b.h, p))
	for _, pattern := range b.named.patterns {
		if pattern.Matches(dir, name) {
			return pattern.Text
		}
	}
	return ""
}

// namedPlaces are the sensitive paths by what they lead to, and the patterns of names.
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
		base = folded(b.h, base)
		b.named.patterns = append(b.named.patterns, Pattern{Text: s.Written, dir: folded(b.h, dir), Parts: []string{base}})
		names, _ := b.paths.Names(dir)
		for _, name := range names { // some are links
			if MatchName(base, folded(b.h, name)) {
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

// sensitiveElsewhere returns the part of a path that is a secret of root, or a directory of keys as
// each user, or a copy of a home directory, has one; "" if none is.
func sensitiveElsewhere(p string) string {
	for _, place := range rows("of root", "") {
		if policy.Within(p, place) {
			return place
		}
	}
	for name := range strings.SplitSeq(p, "/") {
		if slices.Contains(rows("of any user", ""), name) {
			return "**/" + name
		}
	}
	return ""
}
