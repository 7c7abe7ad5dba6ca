package places

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// git protects what git runs or trusts: parts of git directories, and files inside a grant that git's configurations
// name at the start. They are read as git reads them, with their includes.
type git struct {
	*Masks
	settings     map[string][]setting // of the configurations that were read
	done         map[[2]string]bool   // configuration and working tree
	repositories []string             // canonical
	Failed       error                // set by a configuration that is too large
}

// The bounds of the files that are read. git itself gives up at the same depth of includes.
const (
	MaxGitConfig  = 1 << 20
	MaxGitConfigs = 512
	maxIncludes   = 10
)

// A tree is a working tree and its git directory. Relative names in settings begin at one of
// them.
type tree struct{ top, git string }

// Repositories returns the git directories that were found in and around grants, canonical.
func (g *git) Repositories() []string { return g.repositories }

// Dirs returns the git directories in and around writable grants that no name tells.
func (g *git) Dirs(out *policy.Profile) (dirs []string) {
	for _, dir := range g.repositories {
		reachable := slices.ContainsFunc(out.Entries, func(e policy.Entry) bool {
			return e.Rights&policy.Write != 0 && e.Origin == policy.OriginRule && (policy.Within(dir, e.Path) || policy.Within(e.Path, dir))
		})
		if reachable && path.Base(dir) != ".git" && !out.InGitInternals(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// isDir reports whether git would take a directory for a git directory.
func (g *git) isDir(dir string) bool {
	has := func(name string) bool { return g.Paths.Exists(path.Join(dir, name)) }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// repository protects a git directory with any name, the parts of its submodules and worktrees, and what its
// configurations name. top is its working tree, or "" if it is bare or has core.worktree, which goes before top.
func (g *git) repository(git, top string) {
	g.repositories = append(g.repositories, g.Paths.Canonical(git))
	for _, n := range policy.GitParts {
		g.protectPath(path.Join(git, n), ".git/"+n)
	}
	g.internals(git)
	if !g.Entries.grantsWrite() {
		return
	}
	configs := []string{path.Join(git, "config"), path.Join(git, "config.worktree")}
	for _, cfg := range configs {
		for _, s := range g.settingsOf(cfg) {
			if s.name() == "core.worktree" {
				top = g.expandPath(s.value, git)
			}
		}
	}
	if top == "" {
		top = git // the hooks and filters of a bare repository run there
	}
	g.protectNamed(configs, tree{top, git})
	for _, name := range g.list(path.Join(git, "worktrees")) {
		own := path.Join(git, "worktrees", name)
		if link := g.readLink(path.Join(own, "gitdir"), "", own); link != "" {
			g.protectNamed([]string{configs[0], path.Join(own, "config.worktree")}, tree{path.Dir(link), own})
		}
	}
}

// internals protects the files in a git directory that its worktrees and submodules read, wherever they are
// checked out.
func (g *git) internals(git string) {
	for _, name := range g.list(path.Join(git, "worktrees")) {
		own := path.Join(git, "worktrees", name)
		for _, n := range policy.WorktreeParts {
			g.protectPath(path.Join(own, n), ".git/"+n)
		}
		g.internals(own) // of submodules in that worktree
	}
	todo := []string{path.Join(git, "modules")}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, name := range g.list(dir) { // the name of a submodule may have slashes
			sub := path.Join(dir, name)
			if at, err := g.Paths.Resolve(sub); err != nil || at.Path != sub || !at.Info.Mode.IsDir() {
				continue
			}
			if g.Paths.Exists(path.Join(sub, "HEAD")) {
				g.repository(sub, "")
			} else {
				todo = append(todo, sub) // only a part of a submodule's name so far
			}
		}
	}
}

// protectLinkFile follows a .git that is a file, as in worktrees and submodules: "gitdir:
// PATH" names the directory, whose commondir contains the hooks.
func (g *git) protectLinkFile(file string) {
	dir, top := g.readLink(file, "gitdir:", path.Dir(file)), path.Dir(file)
	if dir == "" {
		return
	}
	g.repository(dir, top)
	if common := g.readLink(path.Join(dir, "commondir"), "", dir); common != "" {
		g.repository(common, "")
		g.protectNamed([]string{path.Join(common, "config")}, tree{top, dir})
	}
	// These files locate the hooks, so they must not change.
	for _, n := range []string{"commondir", "gitdir"} {
		g.protectPath(path.Join(dir, n), ".git/"+n)
	}
}

// readLink returns the path after a key in the first line of one of git's files, or "".
func (g *git) readLink(file, key, base string) string {
	line, _, _ := strings.Cut(g.Paths.ReadStart(file), "\n")
	target, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), key)
	if target = strings.TrimSpace(target); !ok || target == "" || strings.ContainsRune(target, 0) {
		return ""
	}
	if !strings.HasPrefix(target, "/") {
		target = path.Join(base, target)
	}
	return path.Clean(target)
}

// userConfigs returns the configurations of the user and the system. The first one wins.
func (g *git) userConfigs() []string {
	user, _ := g.Host.UserEnv("XDG_CONFIG_HOME")
	if !strings.HasPrefix(user, "/") {
		user = path.Join(g.Host.Home, ".config")
	}
	return []string{path.Join(g.Host.Home, ".gitconfig"), path.Join(user, "git/config"), "/etc/gitconfig"}
}

// protectNamed protects what some configurations name for a tree, and those of the user and the system. Without
// a tree, these are absolute paths, which git uses in repositories that no rule grants.
func (g *git) protectNamed(configs []string, tree tree) {
	if !g.Entries.grantsWrite() {
		return
	}
	for _, cfg := range append(configs, g.userConfigs()...) {
		g.protectFromConfig(cfg, tree, 0)
	}
}

func (g *git) protectFromConfig(cfg string, tree tree, depth int) {
	key := [2]string{cfg, tree.top}
	if g.done[key] || depth > maxIncludes {
		return
	}
	// Before it is read: a configuration may include itself.
	g.done[key] = true
	for _, s := range g.settingsOf(cfg) {
		named := s.name() + " of " + cfg
		switch {
		case (s.section == "include" || s.section == "includeif") && s.key == "path":
			if file := g.expandPath(s.value, path.Dir(cfg)); file != "" {
				g.protectPath(file, named)
				g.protectFromConfig(file, tree, depth+1)
			}
		case slices.Contains(Rows("git path"), s.section+"."+s.key):
			g.protectSetting(s, tree, named)
		case s.section == "remote" && (s.key == "url" || s.key == "pushurl"):
			g.protectRemote(s, tree)
		case isCommand(s):
			g.protectCommand(s.value, tree, named)
		}
	}
}

func isCommand(s setting) bool {
	if commands := Rows("git command"); !slices.Contains(commands, s.section+"."+s.key) && !slices.Contains(commands, s.section+".*") {
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
func (g *git) protectSetting(s setting, tree tree, named string) {
	for _, base := range []string{tree.top, tree.git} {
		p := g.expandPath(s.value, base)
		if p == "" {
			continue
		}
		if at, err := g.Paths.Resolve(p); err == nil && base != "" && s.key == "hookspath" && policy.Within(g.Paths.Canonical(base), at.Path) {
			for _, hook := range Rows("git hook") {
				g.protectPath(path.Join(at.Path, hook), named)
			}
			continue
		}
		g.protectPath(p, named)
	}
}

// protectRemote protects a repository on this host to which git pushes: its hooks run here.
func (g *git) protectRemote(s setting, tree tree) {
	value, isFile := strings.CutPrefix(s.value, "file://")
	if before, _, scp := strings.Cut(value, ":"); !isFile && scp && !strings.Contains(before, "/") {
		return // of another host, or a scheme
	}
	p := g.expandPath(value, tree.top)
	for _, dir := range []string{p, p + ".git"} { // p/.git is found by its name
		if p != "" && g.Paths.Exists(path.Join(dir, "HEAD")) {
			g.repository(dir, "")
		}
	}
}

// protectCommand protects what a shell command may name, in any quoting: each word may be a program, or a script
// that the program reads. What follows an expansion may lie in the tree.
func (g *git) protectCommand(command string, tree tree, named string) {
	command = strings.NewReplacer("${HOME}", g.Host.Home, "${HOME:?}", g.Host.Home, "$HOME", g.Host.Home).Replace(command)
	g.protectShellWords(command, tree, named)
	command = strings.ReplaceAll(command, `\`, "")
	for _, separators := range [...]string{"\"'` \t\n;|&<>(){}", "\"'`", ""} {
		for word := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			g.protectWord(word, tree, named)
		}
	}
}

// protectShellWords protects the words of a command as a shell reads them: quotes and backslashes join what they
// are around.
func (g *git) protectShellWords(command string, tree tree, named string) {
	var word strings.Builder
	quote, escaped := rune(0), false
	for _, c := range command + "\n" {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(c)
		case c == '\\' && quote != '\'':
			escaped = true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.ContainsRune(" \t\n;|&<>(){}`", c):
			g.protectWord(word.String(), tree, named)
			word.Reset()
		default:
			word.WriteRune(c)
		}
	}
}

func (g *git) protectWord(text string, tree tree, named string) {
	if i := strings.IndexByte(text, '='); i >= 0 && !strings.ContainsRune(text[:i], '/') {
		text = text[i+1:] // --option=FILE, NAME=FILE
	}
	if _, after, ok := strings.Cut(text, "$"); ok && strings.Contains(after, "/") {
		text = after[strings.IndexByte(after, '/'):]
	}
	if text = strings.TrimPrefix(text, "!"); text == "" || text[0] == '-' || strings.Contains(text, "://") || strings.ContainsRune(text, 0) {
		return
	}
	files := []string{g.expandPath(text, tree.top)}
	if text[0] == '/' && tree.top != "" {
		files = append(files, path.Join(tree.top, text), path.Join(tree.git, text))
	}
	for _, p := range files {
		at, err := g.Paths.Resolve(p)
		if p == "" || err != nil {
			continue
		}
		if at.Exists() && at.Info.Mode.IsRegular() || !at.Exists() && !strings.ContainsAny(text, " \t\n") && (strings.Contains(text, "/") || strings.LastIndexByte(text, '.') > 0) {
			g.protectPath(p, named)
		}
	}
}

// expandPath makes a path of a configuration absolute. It returns "" for a path of
// another user or of git's installation, and for a relative one without a base, which names
// another file in each repository.
func (g *git) expandPath(p, base string) string {
	switch {
	case p == "" || strings.HasPrefix(p, "%(prefix)") || strings.ContainsRune(p, 0):
		return ""
	case p == "~" || strings.HasPrefix(p, "~/"):
		return path.Join(g.Host.Home, p[1:])
	case p[0] == '/':
		return path.Clean(p)
	case p[0] == '~' || base == "":
		return ""
	}
	return path.Join(base, p)
}

// settingsOf reads a configuration, once. It warns of a file that cannot be read as git
// reads it: git stops there as well. Exceeding the bounds is an error.
func (g *git) settingsOf(cfg string) []setting {
	if known, ok := g.settings[cfg]; ok {
		return known
	}
	g.settings[cfg] = nil
	at, err := g.Paths.Resolve(cfg)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return nil
	}
	text, err := g.Host.ReadHead(at.Path, MaxGitConfig+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(text) > MaxGitConfig, len(g.settings) > MaxGitConfigs:
		g.Failed = &GitConfigError{cfg, fmt.Sprintf("it is larger than %d bytes, or includes or is beside more than %d others", MaxGitConfig, MaxGitConfigs)}
		return nil
	}
	var settings []setting
	if err == nil {
		settings, err = parseGitConfig(text)
	}
	if err != nil {
		g.Warn("git-config", g.Policy.Where, "%s cannot be read (%v), not even by git: the settings after that line do not protect the files that they name", cfg, err)
	}
	g.settings[cfg] = settings
	return settings
}

// GitConfigError reports a git configuration that is too large to find out what git runs.
type GitConfigError struct{ File, Reason string }

func (e *GitConfigError) Error() string {
	return fmt.Sprintf("git's configuration %s is not read: %s; so it is not known which files of the grant git runs: grant the repository without write rights, or make that file smaller", e.File, e.Reason)
}
