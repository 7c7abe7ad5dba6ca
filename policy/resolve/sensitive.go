package resolve

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// sensitivePaths is the list of docs/protected.md "Sensitive paths". No rule shortens it.
// "~/x" is a path of the user, the last component may end with "*", and "**/x" is a name at
// any depth of a grant.
var sensitivePaths = []string{
	"~/.ssh", "~/.gnupg", "~/.gpg", "~/.aws", "~/.azure", "~/.config/gcloud", "~/.kube", "~/.docker/config.json",
	"~/.netrc", "~/.npmrc", "~/.config/npm/npmrc", "~/.pypirc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/op",
	"~/.password-store", "~/.local/share/keyrings", "~/.terraform.d", "~/.cargo/credentials*",
	// Shell histories, and those of the programs that take secrets on a line.
	"~/.bash_history", "~/.zsh_history", "~/.zhistory", "~/.histfile", "~/.sh_history", "~/.ksh_history", "~/.history", "~/.zsh_sessions", "~/.bash_sessions",
	"~/.local/share/fish/fish_history", "~/.config/fish/fish_history", "~/.local/share/powershell/PSReadLine", "~/.config/nushell/history*",
	"~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.sqlite_history", "~/.rediscli_history", "~/.irb_history",
	// Browser profiles: cookies, saved passwords.
	"~/.mozilla", "~/.librewolf", "~/.waterfox", "~/.zen", "~/.thunderbird",
	"~/.config/google-chrome*", "~/.config/chromium", "~/.config/BraveSoftware", "~/.config/microsoft-edge*", "~/.config/vivaldi*", "~/.config/opera*",
	"~/snap/firefox", "~/snap/chromium", "~/.var/app/org.mozilla.firefox", "~/.var/app/com.google.Chrome", "~/.var/app/org.chromium.Chromium", "~/.var/app/com.brave.Browser",
	// Private keys beside the certificates of the baseline.
	"/etc/ssl/private", "/etc/pki/tls/private",
	"**/.env", "**/.env.*",
}

// builtinSensitive returns the sensitive paths of an operating system.
func builtinSensitive(os string) []string {
	list := sensitivePaths
	if os == "darwin" {
		support := "~/Library/Application Support/"
		list = append(slices.Clone(list), support+"Google/Chrome", support+"Chromium", support+"BraveSoftware", support+"Microsoft Edge", support+"Firefox", support+"Vivaldi", support+"com.operasoftware.Opera", support+"Arc",
			"~/Library/Safari", "~/Library/Cookies", "~/Library/Keychains", "~/Library/Containers/com.apple.Safari", support+"com.apple.TCC", "~/Library/Group Containers/group.com.apple.notes")
	}
	return list
}

// sampleEnv are the .env names that are meant to be published.
var sampleEnv = []string{".env.example", ".env.sample", ".env.template"}

// pattern is a sensitive path of the form **/x/y, split.
type pattern struct {
	text    string
	dir     string // the only directory of such names; "" for any
	parts   []string
	builtin bool
}

// patterns returns the sensitive paths that match at any depth.
func (b *resolver) patterns() (out []pattern) {
	for i, list := range [][]string{builtinSensitive(b.h.OS), b.p.Sensitive} {
		for _, s := range list {
			if rest, ok := strings.CutPrefix(s, "**/"); ok {
				out = append(out, pattern{text: s, parts: strings.Split(rest, "/"), builtin: i == 0})
			}
		}
	}
	return out
}

// matches reports whether dir/name is sensitive by this pattern.
func (p pattern) matches(dir, name string) bool {
	n := len(p.parts)
	if !matchName(p.parts[n-1], name) || p.dir != "" && p.dir != dir {
		return false
	}
	if p.builtin && slices.Contains(sampleEnv, name) {
		return false
	}
	for i := n - 2; i >= 0; i-- {
		if dir == "/" || !matchName(p.parts[i], path.Base(dir)) {
			return false
		}
		dir = path.Dir(dir)
	}
	return true
}

func matchName(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, _ := path.Match(pattern, name) // checked by policy.CheckSensitivePath
	return ok
}

// listSensitive returns the sensitive paths that have a fixed place: those that are built in, those
// of the user, and the files of secrets.
func (b *resolver) listSensitive() []sensitivePath {
	all := slices.Clone(b.builtin)
	for _, s := range b.p.Sensitive {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.expand(s, b.canonical(b.workspaceOrDir()))
			all = append(all, sensitivePath{written: s, abs: abs})
		}
	}
	all = append(all, b.lowerSensitive()...)
	for _, s := range b.p.SecretFiles() {
		abs, _ := b.expand(s, "/")
		all = append(all, sensitivePath{written: s, abs: abs, secret: true})
	}
	return all
}

// hideSensitive masks the sensitive paths that have a fixed place.
func (b *resolver) hideSensitive() {
	for _, s := range b.listSensitive() {
		b.hidePattern(s)
		if at, err := b.paths.Resolve(s.abs); err == nil && s.secret {
			b.hideLinks(at.Links, s.written) // also where they lead out of every grant
		}
	}
	if strings.HasPrefix(b.h.StateDir, "/") { // the HOMEs of other servers, and the records of their sessions
		b.hideSensitivePath(b.h.StateDir, path.Clean(b.h.StateDir))
	}
	for _, dir := range []string{b.h.CacheDir, b.h.DataDir} {
		if strings.HasPrefix(dir, "/") {
			b.hideOwn(path.Clean(dir))
		}
	}
	for _, p := range b.h.PseudoMounts { // of a container or chroot: root commands the kernel by writing there
		b.hideSensitivePath(p, p)
	}
	b.warnNamedSensitive()
}

// hidePattern calls hideSensitivePath for each name that matches the last component.
func (b *resolver) hidePattern(s sensitivePath) {
	dir, base, ok := s.pattern()
	if !ok {
		b.hideSensitivePath(s.written, s.abs)
		return
	}
	for _, name := range b.list(dir) {
		if matchName(base, name) {
			b.hideSensitivePath(s.written, path.Join(dir, name))
		}
	}
}

// hideOwn masks the cache directory, which has cached answers of servers, or the data directory,
// which has the installed packages. A server that could write there would answer in the name of
// others, or be run in their place. If the directory does not exist, it is created before the
// start, because another session may create it inside the grant while this one runs.
func (b *resolver) hideOwn(dir string) {
	b.hideSensitivePath(dir, dir)
	at, err := b.paths.Resolve(dir)
	if err != nil || at.Exists() || at.Reason != "" {
		return
	}
	if e, ok := b.entryFor(at.Path); ok && e.Rights != 0 && e.Origin != policy.OriginHome && e.Path != at.Path {
		delete(b.unprotected, at.Path)
		b.byPath[at.Path] = policy.Entry{Path: at.Path, Kind: policy.KindDir, Origin: policy.OriginSensitive, Named: dir, Rule: "sensitive: " + dir, Make: true}
	}
}

func (b *resolver) workspaceOrDir() string {
	abs, _ := b.expand(cmp.Or(b.p.Workspace, "."), b.h.Dir)
	return abs
}

// list returns the names in a directory, sorted.
func (b *resolver) list(dir string) (names []string) {
	at, err := b.paths.Resolve(dir)
	if err != nil {
		return nil
	}
	if at.Unsearchable != "" {
		b.hideUnreadable(at.Unsearchable)
	}
	if !at.Exists() {
		return nil
	}
	entries, known := b.paths.Listings[at.Path]
	if !known {
		if entries, err = b.h.ReadDir(at.Path); err != nil && at.Info.Mode.IsDir() {
			b.hideUnreadable(at.Path)
		}
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// hideSensitivePath masks one path in every grant, unless a rule with rights names it or a
// path below it (docs/protected.md "Sensitive paths").
func (b *resolver) hideSensitivePath(written, abs string) {
	at, err := b.paths.Resolve(abs)
	if err != nil {
		return
	}
	for _, n := range b.targets {
		if n.rule.Rights() == 0 || !policy.Within(n.canonical, at.Path) {
			continue
		}
		if policy.Within(n.lexical, abs) || policy.Within(n.lexical, at.Path) {
			b.warn("sensitive-granted", n.rule.Where, "path = %s names a sensitive path (%s): the server will be able to %s %s", show.TOML(n.rule.Path), written, rightsText(n.rule.Rights()), n.canonical)
			continue
		}
		// The rule names another path, from which a symbolic link leads here.
		b.warn("sensitive-masked", n.rule.Where, "path = %s leads to the sensitive path %s, which only a rule that names it grants: it stays hidden", show.TOML(n.rule.Path), written)
		b.empty(n.canonical, written)
	}
	e, ok := b.entryFor(at.Path)
	if !ok || e.Rights == 0 || e.Origin == policy.OriginHome || e.Path == at.Path {
		return
	}
	if at.Unsearchable != "" {
		b.hideUnreadable(at.Unsearchable)
		return
	}
	if !at.Exists() {
		// ~/.ssh/authorized_keys must not come into being.
		b.denyCreate(policy.Entry{Path: at.Path, Origin: policy.OriginSensitive, Named: written, Rule: "sensitive: " + written}, e)
		return
	}
	b.byPath[at.Path] = policy.Entry{Path: at.Path, Kind: hostfs.KindOf(at.Info.Mode), Origin: policy.OriginSensitive, Named: written, Rule: "sensitive: " + written, ID: at.Info.ID}
	b.hideLinks(at.Links, written)
}

// hideLinks also masks the symbolic links that lead to a hidden path, if the server could
// remove them. Without a link, the next start would not find the path.
func (b *resolver) hideLinks(links []policy.Link, named string) {
	for _, l := range links {
		e, ok := b.entryFor(path.Dir(l.Path))
		if !ok || e.Rights&(policy.Create|policy.Delete) == 0 || e.Origin == policy.OriginHome {
			continue
		}
		info := b.paths.Lstat(l.Path).Info
		b.byPath[l.Path] = policy.Entry{Path: l.Path, Kind: policy.KindSpecial, Origin: policy.OriginSensitive, Named: named, Rule: "sensitive: " + named, ID: info.ID}
	}
}

// empty takes all rights from an existing entry.
func (b *resolver) empty(p, written string) {
	if e, ok := b.byPath[p]; ok {
		e.Rights, e.Origin, e.Named, e.Rule, e.Make = 0, policy.OriginSensitive, written, "sensitive: "+written, false
		b.byPath[p] = e
	}
}

// warnNamedSensitive warns of rules that name a path which a **/ pattern calls sensitive.
func (b *resolver) warnNamedSensitive() {
	patterns := b.patterns()
	for _, n := range b.targets {
		if n.rule.Rights() == 0 || b.byPath[n.canonical].Origin != policy.OriginRule {
			continue
		}
		for _, p := range patterns {
			if p.matches(path.Dir(n.canonical), path.Base(n.canonical)) {
				b.warn("sensitive-granted", n.rule.Where, "path = %s names a sensitive path (%s): the server will be able to %s %s", show.TOML(n.rule.Path), p.text, rightsText(n.rule.Rights()), n.canonical)
				break
			}
		}
	}
}

// rightsText returns the names of rights: "read, create".
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

// findLinksAstray finds out whether a symbolic link in a grant leads to a sensitive path
// that is not granted.
func (b *resolver) findLinksAstray(hits []match) {
	followed := 0
	for _, h := range hits {
		if h.pattern != linkPattern {
			continue
		}
		if followed++; b.linksAstray || followed > maxFollowed {
			return
		}
		at, err := b.paths.Resolve(path.Join(h.dir, h.name))
		if err != nil || !at.Exists() {
			continue
		}
		e, covered := b.entryFor(at.Path)
		b.linksAstray = (!covered || e.Rights == 0) && (e.Origin == policy.OriginSensitive || b.sensitiveAround(at.Path) != "")
	}
}
