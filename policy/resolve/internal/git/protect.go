package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/shellwords"
)

// A git configuration may name files inside a grant that git runs or trusts. They are
// protected too, as the configuration names them at the start. The configuration is read as
// git reads it, with its includes.

// commandSettings are the settings whose value is a command that git runs: section to
// keys. nil means any key.
var commandSettings = map[string][]string{
	"core":     {"editor", "pager", "sshcommand", "askpass", "gitproxy", "fsmonitor", "alternaterefscommand"},
	"sequence": {"editor"}, "alias": nil, "pager": nil, "credential": {"helper"}, "gpg": {"program", "defaultkeycommand"},
	"filter": {"clean", "smudge", "process"}, "diff": {"external", "command", "textconv"}, "merge": {"driver"}, "interactive": {"difffilter"},
	"mergetool": {"cmd", "path"}, "difftool": {"cmd", "path"}, "guitool": {"cmd"}, "browser": {"cmd", "path"}, "man": {"cmd", "path"}, "instaweb": {"httpd"},
	"hook": {"command"}, "trailer": {"command", "cmd"}, "submodule": {"update"}, "remote": {"uploadpack", "receivepack"}, "uploadpack": {"packobjectshook"},
	"tar": {"command"}, "gc": {"recentobjectshook"}, "imap": {"tunnel"}, "svn": {"authorsprog"},
	"sendemail": {"tocmd", "cccmd", "headercmd", "sendmailcmd", "smtpserver"}, "lfs": {"path", "clean", "smudge"},
}

// pathSettings are the settings whose value is a file or directory that decides which
// programs git runs, or which keys and certificates it trusts.
var pathSettings = map[string][]string{
	"core": {"hookspath", "attributesfile"}, "init": {"templatedir"}, "gpg": {"allowedsignersfile", "revocationfile"}, "http": {"sslcainfo", "sslcapath", "proxysslcainfo"},
}

// hooks are the names that git looks for in core.hooksPath.
var hooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push",
	"pre-receive", "update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
}

// The bounds of the files that are read. git itself gives up at the same depth of includes.
const (
	MaxConfig   = 1 << 20
	maxIncludes = 10
	MaxConfigs  = 512
)

// A tree is a working tree and its git directory. Relative names in settings begin at one of
// them.
type tree struct{ top, git string }

// A Protector protects what git runs or trusts, for one profile. It names the paths: the caller
// decides what that means for each.
type Protector struct {
	h     *hostfs.Host
	paths *hostfs.LinkResolver
	calls Calls

	settings map[string][]setting
	done     map[[2]string]bool // configuration and working tree
	dirs     []string           // canonical, of git directories that have another name than .git

	repositories []string // canonical, with and without that name

	Failed error // set by a configuration that is too large
}

// Calls are what a Protector needs from its caller.
type Calls struct {
	Protect func(path, named string)  // is called for each path that must not be written
	List    func(dir string) []string // returns the names in a directory, sorted
	Writes  func() bool               // reports whether any rule grants a write right
	Warn    func(code, format string, args ...any)
}

// New returns a Protector that has protected nothing.
func New(h *hostfs.Host, paths *hostfs.LinkResolver, calls Calls) *Protector {
	return &Protector{h: h, paths: paths, calls: calls, settings: map[string][]setting{}, done: map[[2]string]bool{}}
}

// ProtectConfigured protects the files that the configurations of a repository name. git is its
// git directory. top is its working tree, or "" if it is bare or has core.worktree, which goes
// before top.
func (b *Protector) ProtectConfigured(git, top string) {
	if !b.calls.Writes() {
		return
	}
	b.found(git)
	configs := []string{path.Join(git, "config"), path.Join(git, "config.worktree")}
	for _, cfg := range configs {
		for _, s := range b.settingsOf(cfg) {
			if s.section == "core" && s.key == "worktree" && s.sub == "" {
				top = b.expandPath(s.value, git)
			}
		}
	}
	if top == "" {
		top = git // the hooks and filters of a bare repository run there
	}
	b.protectForTree(configs, tree{top, git})
	for _, name := range b.calls.List(path.Join(git, "worktrees")) {
		own := path.Join(git, "worktrees", name)
		if link := b.readGitLink(path.Join(own, "gitdir"), "", own); link != "" {
			b.protectForTree(append(configs[:1:1], path.Join(own, "config.worktree")), tree{path.Dir(link), own})
		}
	}
}

func (b *Protector) protectForTree(configs []string, tree tree) {
	for _, cfg := range append(configs, b.userConfigs()...) {
		b.protectFromConfig(cfg, tree, 0)
	}
}

func (b *Protector) userConfigs() []string {
	user, _ := b.h.UserEnv("XDG_CONFIG_HOME")
	if !strings.HasPrefix(user, "/") {
		user = path.Join(b.h.Home, ".config")
	}
	return []string{path.Join(b.h.Home, ".gitconfig"), path.Join(user, "git/config"), "/etc/gitconfig"}
}

// ProtectUserConfigured protects the absolute paths in the configurations of the user and the
// system. git also uses them in repositories that no rule grants.
func (b *Protector) ProtectUserConfigured() {
	if b.calls.Writes() {
		b.protectForTree(nil, tree{})
	}
}

func (b *Protector) protectFromConfig(cfg string, tree tree, depth int) {
	key := [2]string{cfg, tree.top}
	if b.done[key] || depth > maxIncludes {
		return
	}
	// Before it is read: a configuration may include itself.
	b.done[key] = true
	for _, s := range b.settingsOf(cfg) {
		named := s.name() + " of " + cfg
		switch {
		case (s.section == "include" || s.section == "includeif") && s.key == "path":
			if file := b.expandPath(s.value, path.Dir(cfg)); file != "" {
				b.calls.Protect(file, named)
				b.protectFromConfig(file, tree, depth+1)
			}
		case slices.Contains(pathSettings[s.section], s.key):
			b.protectSetting(s, tree, named)
		case s.section == "remote" && (s.key == "url" || s.key == "pushurl"):
			b.protectRemote(s, tree, named)
		case isCommand(s):
			// Each word may be a program, or a script that the program reads.
			words := append(shellwords.Split(s.value, b.h.Home, false), shellwords.Split(s.value, b.h.Home, true)...)
			for _, word := range append(words, shellwords.Word{Text: s.value}) {
				b.protectWord(word, tree, named)
			}
		}
	}
}

func isCommand(s setting) bool {
	keys, ok := commandSettings[s.section]
	if !ok || keys != nil && !slices.Contains(keys, s.key) {
		return false
	}
	switch strings.ToLower(s.value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return false
	}
	return s.section != "alias" && s.section != "submodule" || strings.HasPrefix(s.value, "!")
}

// protectSetting protects a file or directory that a setting names. If core.hooksPath is or
// contains the working tree or the git directory, protectSetting protects each hook by its name
// and not the whole directory. A push runs hooks in the git directory, so names are also resolved
// there.
func (b *Protector) protectSetting(s setting, tree tree, named string) {
	for _, base := range []string{tree.top, tree.git} {
		p := b.expandPath(s.value, base)
		if p == "" {
			continue
		}
		if at, err := b.paths.Resolve(p); err == nil && base != "" && s.key == "hookspath" && policy.Within(b.paths.Canonical(base), at.Path) {
			for _, hook := range hooks {
				b.calls.Protect(path.Join(at.Path, hook), named)
			}
			continue
		}
		b.calls.Protect(p, named)
	}
}

// protectRemote protects the deciding files of a repository on this host to which git
// pushes: its hooks run here.
func (b *Protector) protectRemote(s setting, tree tree, named string) {
	value, isFile := strings.CutPrefix(s.value, "file://")
	if before, _, scp := strings.Cut(value, ":"); !isFile && scp && !strings.Contains(before, "/") {
		return // of another host, or a scheme
	}
	p := b.expandPath(value, tree.top)
	if p == "" {
		return
	}
	for _, dir := range []string{p, p + ".git"} { // p/.git is found by its name
		if b.paths.Exists(path.Join(dir, "HEAD")) {
			b.ProtectDir(dir, named)
			b.ProtectConfigured(dir, "")
		}
	}
}

func (b *Protector) protectWord(w shellwords.Word, tree tree, named string) {
	text := w.Text
	if i := strings.IndexByte(text, '='); i >= 0 && !strings.ContainsRune(text[:i], '/') {
		text = text[i+1:] // --option=FILE, NAME=FILE
	}
	if text = strings.TrimPrefix(text, "!"); text == "" || text[0] == '-' || strings.Contains(text, "://") || strings.ContainsRune(text, 0) {
		return
	}
	places := []string{b.expandPath(text, tree.top)}
	if w.AfterExpansion && tree.top != "" {
		places = []string{path.Join(tree.top, text), path.Join(tree.git, text)}
	}
	for _, p := range places {
		at, err := b.paths.Resolve(p)
		if p == "" || err != nil {
			continue
		}
		if at.Exists() && at.Info.Mode.IsRegular() || !at.Exists() && !strings.ContainsAny(text, " \t\n") && (strings.Contains(text, "/") || strings.LastIndexByte(text, '.') > 0) {
			b.calls.Protect(p, named)
		}
	}
}

// expandPath makes a path of a configuration absolute. It returns "" for a path of
// another user or of git's installation, and for a relative one without a base.
func (b *Protector) expandPath(p, base string) string {
	switch {
	case p == "" || strings.HasPrefix(p, "%(prefix)") || strings.ContainsRune(p, 0):
		return ""
	case p == "~" || strings.HasPrefix(p, "~/"):
		return path.Join(b.h.Home, p[1:])
	case p[0] == '~':
		return ""
	case p[0] == '/':
		return path.Clean(p)
	}
	if base == "" {
		return "" // names another file in each repository
	}
	return path.Join(base, p)
}

// settingsOf reads a configuration, once. It warns of a file that cannot be read as git
// reads it: git stops there as well. Exceeding the bounds is an error.
func (b *Protector) settingsOf(cfg string) []setting {
	if known, ok := b.settings[cfg]; ok {
		return known
	}
	b.settings[cfg] = nil
	at, err := b.paths.Resolve(cfg)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return nil
	}
	text, err := b.h.ReadHead(at.Path, MaxConfig+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(text) > MaxConfig, len(b.settings) > MaxConfigs:
		b.Failed = &ConfigError{cfg, fmt.Sprintf("it is larger than %d bytes, or includes or stands beside more than %d others", MaxConfig, MaxConfigs)}
		return nil
	}
	var settings []setting
	if err == nil {
		settings, err = parseConfig(text)
	}
	if err != nil {
		b.calls.Warn("git-config", "%s cannot be read (%v), not even by git: the settings after that line do not protect the files that they name", cfg, err)
	}
	b.settings[cfg] = settings
	return settings
}

// ConfigError reports a git configuration that is too large to find out what git runs.
type ConfigError struct{ File, Reason string }

func (e *ConfigError) Error() string {
	return fmt.Sprintf("git's configuration %s is not read: %s; so it is not known which files of the grant git runs: grant the repository without write rights, or make that file smaller", e.File, e.Reason)
}
