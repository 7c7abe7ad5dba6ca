package places

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// pattern is a sensitive path of the form **/x/y, split.
type pattern struct {
	Text    string
	dir     string // the only directory of such names; "" for any
	Parts   []string
	Builtin bool
}

// matches reports whether dir/name is sensitive by this pattern.
func (p pattern) matches(dir, name string) bool {
	n := len(p.Parts)
	if !matchName(p.Parts[n-1], name) || p.dir != "" && p.dir != dir {
		return false
	}
	if p.Builtin && slices.Contains(rows("sample", ""), name) {
		return false
	}
	for i := n - 2; i >= 0; i-- {
		if dir == "/" || !matchName(p.Parts[i], path.Base(dir)) {
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

// patterns returns the sensitive paths that match at any depth.
func (b *Places) patterns() (out []pattern) {
	for i, list := range [][]string{rows(sensitive, b.h.OS), b.p.Sensitive} {
		for _, s := range list {
			if rest, ok := strings.CutPrefix(s, "**/"); ok {
				out = append(out, pattern{Text: s, Parts: strings.Split(rest, "/"), Builtin: i == 0})
			}
		}
	}
	return out
}

// HiddenNames returns policy.Profile.Hidden: the patterns, and after those that are built in their exceptions.
func (b *Places) HiddenNames() (names []string) {
	all := b.patterns()
	for i, p := range all {
		names = append(names, strings.Join(p.Parts, "/"))
		if p.Builtin && (i+1 == len(all) || !all[i+1].Builtin) {
			for _, sample := range rows("sample", "") {
				names = append(names, "!"+sample)
			}
		}
	}
	return names
}

// windowsHomes returns the home directories of Windows, in WSL if a rule leads to them: to ask for each path
// there is slow.
func (b *Places) windowsHomes() (homes []string) {
	const users = "/mnt/c/Users"
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

// listSensitive returns the sensitive paths that have a fixed place: those that are built in, those
// of the user, and the files of secrets.
func (b *Places) listSensitive() []place {
	all := slices.Clone(b.Builtin)
	for _, s := range b.p.Sensitive {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.Expand(s, b.paths.Canonical(b.workspaceOrDir()))
			all = append(all, place{Kind: sensitive, Written: s, Abs: abs})
		}
	}
	for _, s := range b.p.SecretFiles() {
		abs, _ := b.Expand(s, "/")
		all = append(all, place{Kind: sensitive, Written: s, Abs: abs, Secret: true})
	}
	return all
}

// Sensitive returns the sensitive path that a path is, leads to or lies in, as it is written; "" if
// there is none. It is the one answer to that question: of a start, of advice, and of
// the review of a client's entry. The policy has the user's paths and the files of secrets. Beside
// what a start hides, Sensitive knows mcp-jail's own directories, what only root reads, and the keys
// of other users.
func Sensitive(h *hostfs.Host, p *policy.Policy, name string) string {
	if !isPOSIX(h) {
		return ""
	}
	return newAdviser(h, p).Sensitive(name)
}

// isPOSIX reports whether places of a host are judged. On Windows nothing restricts files, so a grant of one gives
// nothing; on other systems without such paths no server starts.
func isPOSIX(h *hostfs.Host) bool { return path.IsAbs(h.Dir) && path.IsAbs(h.Home) }

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
	return cmp.Or(sensitiveElsewhere(at), sensitiveElsewhere(abs))
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
	dir, name := hostfs.Split(p)
	for _, pattern := range b.named.patterns {
		if pattern.matches(dir, name) {
			return pattern.Text
		}
	}
	return ""
}

// namedPlaces are the sensitive paths by what they lead to, and the patterns of names.
type namedPlaces struct {
	names    map[string]string // canonical, in small letters, to the written path
	objects  map[policy.FileID]string
	patterns []pattern
}

func (b *Places) collectPlaces() {
	b.named = &namedPlaces{map[string]string{}, map[policy.FileID]string{}, b.patterns()}
	for _, s := range b.listSensitive() {
		dir, base, ok := s.pattern()
		if !ok {
			b.addPlace(s.Written, s.Abs)
			continue
		}
		dir = b.paths.Canonical(dir)
		b.named.patterns = append(b.named.patterns, pattern{Text: s.Written, dir: dir, Parts: []string{base}})
		names, _ := b.paths.Names(dir)
		for _, name := range names { // some are links
			if matchName(base, name) {
				b.addPlace(s.Written, path.Join(dir, name))
			}
		}
	}
}

// addPlace adds a place, unless it is the home directory or lies around it: that holds everything.
func (b *Places) addPlace(written, abs string) {
	at := b.paths.Canonical(abs)
	if policy.Within(b.paths.Canonical(b.h.Home), at) {
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

// OwnDirs returns mcp-jail's configuration, state, cache and data directories, and the
// administrator's configuration directory.
func (b *Places) OwnDirs() (dirs []string) {
	for _, d := range []string{b.h.ConfigDir, b.h.StateDir, b.h.CacheDir, b.h.DataDir, policy.SystemConfigDir} {
		if strings.HasPrefix(d, "/") {
			dirs = append(dirs, path.Clean(d))
		}
	}
	return dirs
}

// TrustedFiles returns the files that decide about every server: the configurations that
// were named, this program, and mcp-jail's programs beside it, which run outside any jail.
func (b *Places) TrustedFiles() []string {
	files := b.h.Configs
	if exe := b.h.Executable; exe != "" {
		files = append([]string{exe}, files...)
		for _, name := range [...]string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
			if beside := path.Join(path.Dir(exe), name); beside != exe {
				files = append(files, beside)
			}
		}
	}
	return files
}

// allOwnDirs returns OwnDirs, and usualDirs.
func (b *Places) allOwnDirs() []string { return append(b.OwnDirs(), usualDirs(b.h)...) }

// usualDirs returns where mcp-jail's directories for its configuration, state, cache and data are without
// variables. The variables of this process may not be those of the user's shell.
func usualDirs(h *hostfs.Host) []string {
	cfg, state, cache, data := hostfs.StandardDirs(&hostfs.Host{Home: h.Home})
	return slices.DeleteFunc([]string{cfg, state, cache, data}, func(dir string) bool { return !strings.HasPrefix(dir, "/") })
}

// Guarded returns what a grant of an absolute path would give a server a hold on, or "": mcp-jail's
// configuration, state, cache, packages and programs. With write, it also returns the files of
// clients, and what the user's session and tools run outside of the jail. The path leads to such a
// place, lies in it, or contains it. Guarded compares objects, and names without regard to case, so
// that no link, mount or other spelling hides a place.
func Guarded(h *hostfs.Host, p string, write bool) string {
	if !isPOSIX(h) {
		return ""
	}
	return guarded(newAdviser(h, &policy.Policy{}), p, write)
}

func guarded(b *Places, p string, write bool) string {
	abs, _ := b.Expand(p, "/")
	at := b.paths.Canonical(abs)
	dirs := b.allOwnDirs()
	if write {
		dirs = append(dirs, b.TrustedFiles()...)
		dirs = append(dirs, path.Join(b.h.Home, ".ssh"), path.Join(b.h.Home, ".gnupg")) // keys that let others in, and what they start
		for _, d := range b.Deciding {
			if d.Kind != packages { // a server may have a reason to write it
				dirs = append(dirs, d.Abs)
			}
		}
	}
	for _, dir := range dirs {
		if b.touches(at, dir) {
			return dir
		}
	}
	for _, file := range b.TrustedFiles() {
		if b.holds(at, b.paths.Canonical(file)) {
			return file
		}
	}
	return ""
}

// touches reports whether a canonical path is a place, lies in it, or contains it.
func (b *Places) touches(at, place string) bool {
	real := b.paths.Canonical(place)
	return b.holds(at, real) || b.holds(real, at)
}

func (b *Places) holds(p, dir string) bool {
	return policy.Within(strings.ToLower(p), strings.ToLower(dir)) || b.isBelow(p, dir)
}

// Reasons returns what speaks against rights at a path, what weighs most first.
func Reasons(h *hostfs.Host, p *policy.Policy, name string, rights policy.Rights) (all []policy.Reason) {
	if !isPOSIX(h) {
		return nil
	}
	b := newAdviser(h, p)
	abs, _ := b.Expand(name, h.Dir)
	at, home := b.paths.Canonical(abs), b.paths.Canonical(b.h.Home)
	mode, around := b.paths.Lstat(at).Info.Mode, path.Dir(at)
	socket, writes := mode&fs.ModeSocket != 0, rights&policy.Write != 0 // to write to one is to connect
	isGit := path.Base(at) == ".git" && mode.IsDir()                    // a grant of it leaves the protected names in it out
	changes, system, device := writes && !socket, isSystemPart(b.h.OS, at), policy.Within(at, "/dev")
	add := func(is bool, kind policy.ReasonKind, names ...string) {
		if is {
			all = append(all, policy.Reason{Kind: kind, Names: names})
		}
	}
	add(at == "/" || policy.Within(home, at) || at == "/root" || around == "/home" || around == "/Users", policy.WhyAllFiles)
	if place := guarded(b, abs, writes); place != "" {
		all = append(all, b.decides(place, at, abs))
	}
	add(changes && policy.HasProtectedName(at) && !isGit, policy.WhyProtected)
	add(changes && system && !device, policy.WhyOfSystem)
	add(rights.Has(policy.Execute) && !mode.IsDir() && (mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 || slices.Contains(rows("raising", ""), path.Base(at))), policy.WhyRaises)
	hidden := b.Sensitive(name)
	login := slices.ContainsFunc(b.Builtin, func(s place) bool { return s.Written == hidden && s.Why != "" })
	add(hidden != "" && !login, policy.WhySensitive, hidden)
	add(login, policy.WhyLogin, hidden)
	add(HasKeyName(at) && !mode.IsDir() && !login, policy.WhyKeyName)
	if why := b.commands(at); socket && why != "" {
		add(true, policy.WhyCommands, why)
	}
	add(socket, policy.WhySocket)
	add(changes && isGit, policy.WhyGitDir)
	add(changes && device || !policy.Within(at, home) && isIn("of others", "", at), policy.WhyOfOthers)
	add(b.isShared(at) || around == "/" && system, policy.WhyShared)
	if i := slices.IndexFunc(b.Deciding, func(d place) bool { return changes && b.touches(at, d.Abs) }); i >= 0 {
		add(true, policy.WhyChoosesCode, b.Deciding[i].Written, b.Deciding[i].Why)
	}
	add(around == home && at != b.paths.Canonical(b.workspaceOrDir()) && (mode.IsDir() || !b.paths.Exists(at)), policy.WhyInHome)
	return all
}

// commands says what can be done through a socket behind which programs run outside of the jail, or returns "".
func (b *Places) commands(at string) string {
	names := []string{path.Base(at)}
	for _, name := range [...]string{"DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK"} {
		value, _ := b.h.UserEnv(name)
		if socket := policy.SocketOf(value); socket != "" && b.paths.Canonical(socket) == at {
			names = append(names, "$"+name)
		}
	}
	for _, g := range groupsOf(b.h.OS, "commands") {
		for _, row := range g.rows {
			if slices.ContainsFunc(names, func(name string) bool { return matchName(row, name) }) {
				return g.why
			}
		}
	}
	return ""
}

// decides returns the reason that a path, before links and without them, lies in a place that [Guarded] returns, or
// gives control of it.
func (b *Places) decides(place, at, abs string) policy.Reason {
	switch d, is := b.DecidingAround(at); {
	case is:
		return policy.Reason{Kind: policy.WhyDecides, Names: []string{d.Why}}
	case place == at || place == abs:
		return policy.Reason{Kind: policy.WhyDecides}
	case b.holds(at, b.paths.Canonical(place)):
		return policy.Reason{Kind: policy.WhyDecides, Names: []string{"", b.Abbreviate(place)}}
	}
	return policy.Reason{Kind: policy.WhyHoldsDecider, Names: []string{b.Abbreviate(place)}}
}

// isSystemPart reports whether a path belongs to the system, or lies in a part of /var that does.
func isSystemPart(os, at string) bool {
	return isSystemPlace(os, at) || slices.ContainsFunc([]string{"cache", "lib", "log", "mail", "run", "spool"}, func(part string) bool { return policy.Within(at, "/var/"+part) })
}

// HasKeyName reports whether a path has one of the names that files with keys and passwords have.
func HasKeyName(at string) bool {
	name := path.Base(at)
	for _, pattern := range rows("key name", "") {
		if matchName(pattern, name) && path.Ext(name) != ".pub" {
			return true
		}
	}
	return false
}
