package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// sensitivePaths is the list of docs/policy.md "Sensitive paths". Nothing shortens
// it. "~/x" is a path of the user, a last component may have a "*" at its end, and
// "**/x" is a name at any depth of a grant.
var sensitivePaths = []string{
	"~/.ssh", "~/.gnupg", "~/.gpg", "~/.aws", "~/.azure", "~/.config/gcloud", "~/.kube", "~/.docker/config.json",
	"~/.netrc", "~/.npmrc", "~/.pypirc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/op",
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

// builtinSensitive are those of an operating system.
func builtinSensitive(os string) []string {
	list := sensitivePaths
	if os == "darwin" {
		support := "~/Library/Application Support/"
		list = append(slices.Clone(list), support+"Google/Chrome", support+"Chromium", support+"BraveSoftware", support+"Microsoft Edge", support+"Firefox", support+"Vivaldi", support+"com.operasoftware.Opera", support+"Arc",
			"~/Library/Safari", "~/Library/Cookies", "~/Library/Keychains", "~/Library/Containers/com.apple.Safari", support+"com.apple.TCC", "~/Library/Group Containers/group.com.apple.notes")
	}
	return list
}

// sampleEnv are the .env names that are made to be published.
var sampleEnv = []string{".env.example", ".env.sample", ".env.template"}

// checkSensitive validates an entry of access.sensitive_paths.
func checkSensitive(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("a sensitive path is empty")
	case strings.ContainsAny(s, "\x00\r\n"):
		return fmt.Errorf("a sensitive path contains a NUL or a line break")
	case len(s) >= 4096:
		return fmt.Errorf("a sensitive path is longer than 4095 bytes")
	case variableIn(s) != "":
		return fmt.Errorf("%q: variables are not expanded; write ~/NAME for a place in the home directory, and a name that begins with $ as ./%s", clip(s), clip(s))
	case s[0] == '~' && !strings.HasPrefix(s, "~/"):
		return fmt.Errorf("%q: write ~/NAME, an absolute path, a path in the workspace, or **/NAME", clip(s))
	}
	literal := s
	if pattern, ok := strings.CutPrefix(s, "**/"); ok {
		if strings.Trim(pattern, "*/") == "" {
			return fmt.Errorf("%q would make everything sensitive", clip(s))
		}
		literal = ""
		if strings.Contains(pattern, "**") {
			return fmt.Errorf("%q: ** is only understood once, at the beginning", clip(s))
		}
		for _, part := range strings.Split(pattern, "/") {
			if part == "" || part == "." || part == ".." {
				return fmt.Errorf("%q: no empty or dot components after **/", clip(s))
			}
		}
	}
	if strings.ContainsAny(path.Dir(literal), "*?[") {
		return fmt.Errorf("%q: wildcards are for the last component, or after a leading **/", clip(s))
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%q is not a valid pattern", clip(s))
	}
	return nil
}

// pattern is a sensitive path of the form **/x/y, split.
type pattern struct {
	text  string
	parts []string
	built bool
}

// patterns returns those sensitive paths that are matched at any depth.
func (b *builder) patterns() (out []pattern) {
	for i, list := range [][]string{builtinSensitive(b.h.OS), b.p.Sensitive} {
		for _, s := range list {
			if rest, ok := strings.CutPrefix(s, "**/"); ok {
				out = append(out, pattern{s, strings.Split(rest, "/"), i == 0})
			}
		}
	}
	return out
}

// matches tells whether dir/name is sensitive by this pattern.
func (p pattern) matches(dir, name string) bool {
	n := len(p.parts)
	if !matchName(p.parts[n-1], name) {
		return false
	}
	if p.built && slices.Contains(sampleEnv, name) {
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
	ok, _ := path.Match(pattern, name) // checked by checkSensitive
	return ok
}

// masks takes the sensitive paths that have a place out of the grants.
func (b *builder) masks() {
	for _, s := range b.builtin {
		b.maskPath(s.written, s.abs)
	}
	for _, s := range b.p.Sensitive {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.expand(s, b.real(b.workspaceOrDir()))
			b.maskPath(s, abs)
		}
	}
	for _, s := range b.p.secretFiles() {
		abs, _ := b.expand(s, "/")
		b.sensitive(s, abs)
		if at, err := b.f.find(abs); err == nil {
			b.hold(at.links, s) // also where they lead out of every grant
		}
	}
	if strings.HasPrefix(b.h.StateDir, "/") { // the HOMEs of other servers, and what was said in their sessions
		b.sensitive(b.h.StateDir, path.Clean(b.h.StateDir))
	}
	if strings.HasPrefix(b.h.CacheDir, "/") {
		b.hideCache(path.Clean(b.h.CacheDir))
	}
	for _, p := range b.h.KernelPlaces { // a container's or a chroot's: who can write there, as root, commands the kernel
		b.sensitive(p, p)
	}
	b.nameWarnings()
}

// maskPath is sensitive for each name that the last component matches.
func (b *builder) maskPath(written, abs string) {
	dir, base := split(abs)
	if !strings.ContainsAny(base, "*?[") {
		b.sensitive(written, abs)
		return
	}
	for _, name := range b.names(dir) {
		if matchName(base, name) {
			b.sensitive(written, path.Join(dir, name))
		}
	}
}

// hideCache masks what servers answered: one that could write it would answer in
// the others' names. Where it is not there yet it is made before the start, since
// another session will make it while this one runs, inside of the grant.
func (b *builder) hideCache(dir string) {
	b.sensitive(dir, dir)
	at, err := b.f.find(dir)
	if err != nil || at.exists() || at.reason != "" {
		return
	}
	if e, ok := b.find(at.path); ok && e.Rights != 0 && e.Origin != OriginHome && e.Path != at.path {
		delete(b.absent, at.path)
		b.at[at.path] = Entry{Path: at.path, Kind: KindDir, Origin: OriginSensitive, Named: dir, Rule: "sensitive: " + dir, Make: true}
	}
}

func (b *builder) workspaceOrDir() string {
	abs, _ := b.expand(last(".", b.p.Workspace), b.h.Dir)
	return abs
}

// names lists a directory if anything in it can be granted.
func (b *builder) names(dir string) (names []string) {
	at, err := b.f.find(dir)
	if err != nil {
		return nil
	}
	if at.shut != "" {
		b.shut(at.shut)
	}
	if !at.exists() {
		return nil
	}
	entries, known := b.f.listed[at.path]
	if !known {
		if entries, err = b.h.ReadDir(at.path); err != nil && at.info.Mode.IsDir() {
			b.shut(at.path)
		}
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// sensitive masks one path in whatever grant it lies, unless a rule with rights
// names it or something below it (docs/policy.md "Sensitive paths").
func (b *builder) sensitive(written, abs string) {
	at, err := b.f.find(abs)
	if err != nil {
		return
	}
	for _, n := range b.named {
		if n.rule.Rights() == 0 || !Within(n.canonical, at.path) {
			continue
		}
		if Within(n.lexical, abs) || Within(n.lexical, at.path) {
			b.warn("sensitive-granted", n.rule.Where, "path = %s names a sensitive path (%s): the server will be able to %s %s", tomlString(n.rule.Path), written, ableTo(n.rule.Rights()), n.canonical)
			continue
		}
		// The rule is about another name that leads here: it does not name this.
		b.warn("sensitive-masked", n.rule.Where, "path = %s leads to the sensitive path %s, which only a rule that names it grants: it stays hidden", tomlString(n.rule.Path), written)
		b.mask(n.canonical, written)
	}
	e, ok := b.find(at.path)
	if !ok || e.Rights == 0 || e.Origin == OriginHome || e.Path == at.path {
		return
	}
	if at.shut != "" {
		b.shut(at.shut)
		return
	}
	if !at.exists() {
		// ~/.ssh/authorized_keys must not come into being.
		b.forbid(Entry{Path: at.path, Origin: OriginSensitive, Named: written, Rule: "sensitive: " + written}, e)
		return
	}
	b.at[at.path] = Entry{Path: at.path, Kind: kindOf(at.info.Mode), Origin: OriginSensitive, Named: written, Rule: "sensitive: " + written, ID: at.info.ID}
	b.hold(at.links, written)
}

// hold hides the symbolic links too that led to something hidden, where the server
// could remove them: the next start finds it by them alone.
func (b *builder) hold(links []Link, named string) {
	for _, l := range links {
		e, ok := b.find(path.Dir(l.Path))
		if !ok || e.Rights&(Create|Delete) == 0 || e.Origin == OriginHome {
			continue
		}
		info := b.f.look(l.Path).info
		b.at[l.Path] = Entry{Path: l.Path, Kind: KindSpecial, Origin: OriginSensitive, Named: named, Rule: "sensitive: " + named, ID: info.ID}
	}
}

// mask empties an entry that exists already.
func (b *builder) mask(p, written string) {
	if e, ok := b.at[p]; ok {
		e.Rights, e.Origin, e.Named, e.Rule, e.Make = 0, OriginSensitive, written, "sensitive: "+written, false
		b.at[p] = e
	}
}

// nameWarnings reports rules that name what a **/ pattern calls sensitive.
func (b *builder) nameWarnings() {
	patterns := b.patterns()
	for _, n := range b.named {
		if n.rule.Rights() == 0 || b.at[n.canonical].Origin != OriginRule {
			continue
		}
		for _, p := range patterns {
			if p.matches(path.Dir(n.canonical), path.Base(n.canonical)) {
				b.warn("sensitive-granted", n.rule.Where, "path = %s names a sensitive path (%s): the server will be able to %s %s", tomlString(n.rule.Path), p.text, ableTo(n.rule.Rights()), n.canonical)
				break
			}
		}
	}
}

// ableTo puts rights into words: "read, create".
func ableTo(r Rights) string {
	var words []string
	for _, n := range rightNames {
		if r.Has(n.right) {
			words = append(words, n.name)
		}
	}
	return strings.Join(words, ", ")
}
