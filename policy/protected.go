package policy

import (
	"io/fs"
	"path"
	"strings"
)

// protectedNames are the names of docs/policy.md "Protected names": what they hold
// is run or believed outside of the jail, so a writable grant does not extend to
// it. The value lists what is meant below the name; nil is the name itself.
func protectedNames(name string) (below []string, protected bool) {
	switch name {
	case ".git":
		return gitParts, true
	case ".hg":
		return []string{"hgrc", "hgrc-not-shared", "sharedpath"}, true
	case ".github":
		return []string{"workflows"}, true
	case ".gitmodules", ".mcp.json", ".mcp-jail.toml", ".envrc", ".vscode", ".cursor", ".claude", ".codex", ".gemini", ".idea", ".husky", ".zed", ".jp", ".jp.toml", ".windsurf":
		return nil, true
	}
	return nil, false
}

// gitParts are what decides in a git directory which programs git starts:
// commondir says where the others are, in every git directory that has one, remotes and
// branches where a push goes, and so whose hooks it runs, where the configuration does not.
var gitParts = []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"}

// linkParts are what of a worktree says where its git directory and its settings are.
var linkParts = []string{"commondir", "gitdir", "config.worktree"}

// everyProtected lists the same as paths relative to a grant's root.
func everyProtected() []string {
	return []string{
		".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".gitmodules", ".mcp.json", ".mcp-jail.toml", ".envrc", ".vscode", ".cursor", ".claude",
		".codex", ".gemini", ".idea", ".husky", ".zed", ".jp", ".jp.toml", ".windsurf", ".github/workflows",
	}
}

// clientFiles are the configurations of the supported clients: a server that
// can write one chooses what the client starts next. Those of editors are among the
// startupFiles.
func clientFiles(os string) []string {
	list := []string{
		"~/.claude.json", "~/.claude", "~/.cursor/mcp.json", "~/.codex/config.toml", "~/.gemini/settings.json", "~/.mcp.json",
		"~/.config/Claude/claude_desktop_config.json", "~/.config/goose/config.yaml", "~/.config/jp", "~/.codeium/windsurf/mcp_config.json",
	}
	if os == "darwin" {
		list = append(list, "~/Library/Application Support/Claude/claude_desktop_config.json")
	}
	return list
}

// protect holds the files that have a place: the clients' configurations, what starts with
// the user's session and tools, and mcp-jail's own files.
func (b *builder) protect() {
	for _, list := range [...][]string{clientFiles(b.h.OS), startupFiles(b.h.OS)} {
		for _, s := range list {
			abs, _ := b.expand(s, "/")
			b.protectPath(abs, s)
		}
	}
	b.protectNamedEverywhere()
	for _, own := range b.own() {
		b.protectPath(own, own)
	}
	for _, file := range b.beside() {
		b.protectPath(file, file)
	}
}

// beside are the files that decide of every server: the configurations that were named,
// mcp-jail, and what it starts from beside itself, outside of every jail.
func (b *builder) beside() []string {
	if exe := b.h.Executable; exe != "" {
		return append([]string{exe, path.Join(path.Dir(exe), "mcp-jail-tls")}, b.h.Configs...)
	}
	return b.h.Configs
}

// protectPath takes the write rights from one path inside a writable grant,
// unless a rule names it; a path that does not exist must not come into being.
func (b *builder) protectPath(abs, named string) {
	if e, ok := b.find(abs); !ok || e.Rights&Write == 0 {
		// The name itself is out of reach; what it links to may not be.
		if at, err := b.f.find(abs); err != nil || at.path == abs {
			return
		}
	}
	at, err := b.f.find(abs)
	if err != nil {
		return
	}
	for _, l := range at.links {
		// A link cannot be mounted over: replacing it must be refused by name.
		if e, ok := b.find(l.Path); ok && e.Rights.Has(Create) && e.Origin != OriginHome {
			b.absent[l.Path] = true
		}
	}
	e, ok := b.find(at.path)
	if !ok || e.Rights&Write == 0 || e.Origin == OriginHome {
		return
	}
	if e.Path == at.path && (e.Origin == OriginRule || e.Origin == OriginProtected) {
		return // a rule for exactly this path, or done already
	}
	if at.shut != "" {
		b.shut(at.shut)
		return
	}
	if !at.exists() {
		b.forbid(Entry{Path: at.path, Rights: e.Rights &^ Write, Origin: OriginProtected, Named: named, Rule: "protected: " + named}, e)
		return
	}
	b.at[at.path] = Entry{Path: at.path, Kind: kindOf(at.info.Mode), Rights: e.Rights &^ Write, Origin: OriginProtected, Named: named, Rule: "protected: " + named, ID: at.info.ID}
}

// forbid keeps a path that does not exist from coming into being inside holder:
// it is listed as unprotected, unless something below it is made before the
// start, when it exists by then and can be an entry like others.
func (b *builder) forbid(e, holder Entry) {
	for _, made := range b.at {
		if made.Make && made.Path != e.Path && Within(made.Path, e.Path) {
			e.Kind, e.Make = KindDir, true
			b.at[e.Path] = e
			return
		}
	}
	if holder.Rights.Has(Create) && holder.Origin != OriginHome {
		b.absent[e.Path] = true
	}
}

// protectName handles one protected name that the search found in dir.
func (b *builder) protectName(dir, name string, typ fs.FileMode) {
	abs := path.Join(dir, name)
	below, _ := protectedNames(name)
	if below == nil {
		b.protectPath(abs, name)
		return
	}
	switch {
	case typ.IsDir():
		for _, n := range below {
			// A repository may be anywhere below the grant; workflows only run
			// from the root of one, so absent ones are listed for grants' roots
			// alone (a node_modules has a .github in every tenth package).
			if name == ".github" && !b.f.exists(path.Join(abs, n)) {
				continue
			}
			b.protectPath(path.Join(abs, n), path.Join(name, n))
		}
		if name == ".git" {
			b.protectLinked(abs)
			b.protectNamedBy(abs, dir)
		}
	case typ&fs.ModeSymlink != 0:
		at, err := b.f.find(abs)
		if err != nil {
			return
		}
		b.protectPath(abs, name) // the link; its target follows by its parts
		if e, ok := b.at[at.path]; ok && e.Origin == OriginProtected {
			delete(b.at, at.path)
		}
		for _, n := range below {
			b.protectPath(path.Join(at.path, n), path.Join(name, n))
		}
		if name == ".git" {
			b.protectLinked(at.path)
			b.protectNamedBy(at.path, dir)
		}
	case name == ".git":
		b.protectPath(abs, name)
		b.protectGitFile(abs)
	}
}

// protectLinked holds what the worktrees and submodules of a repository, wherever
// they are checked out, read from its git directory.
func (b *builder) protectLinked(git string) {
	for _, name := range b.names(path.Join(git, "worktrees")) {
		for _, n := range linkParts {
			b.protectPath(path.Join(git, "worktrees", name, n), ".git/"+n)
		}
	}
	todo := []string{path.Join(git, "modules")}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, name := range b.names(dir) { // the name of a submodule may have slashes
			sub := path.Join(dir, name)
			if at, err := b.f.find(sub); err != nil || at.path != sub || !at.info.Mode.IsDir() {
				continue
			}
			if !b.f.exists(path.Join(sub, "HEAD")) {
				todo = append(todo, sub)
				continue
			}
			for _, n := range gitParts {
				b.protectPath(path.Join(sub, n), ".git/"+n)
			}
			b.protectLinked(sub)
			b.protectNamedBy(sub, "")
		}
	}
}

// protectGitFile follows a .git that is a file, as worktrees and submodules have
// one: "gitdir: PATH" names the directory, whose commondir holds the hooks.
func (b *builder) protectGitFile(file string) {
	dir := b.gitLink(file, "gitdir:", path.Dir(file))
	if dir == "" {
		return
	}
	dirs := []string{dir}
	if common := b.gitLink(path.Join(dir, "commondir"), "", dir); common != "" {
		dirs = append(dirs, common)
	}
	tree, configs := gitTree{path.Dir(file), dir}, []string{path.Join(dir, "config.worktree")}
	for _, d := range dirs {
		configs = append(configs, path.Join(d, "config"))
	}
	if b.writes() {
		b.namedBy(configs, tree)
	}
	for _, d := range dirs {
		for _, n := range gitParts {
			b.protectPath(path.Join(d, n), ".git/"+n)
		}
		b.protectLinked(d)
	}
	// What says where the hooks are must stay as it is.
	for _, n := range []string{"commondir", "gitdir"} {
		b.protectPath(path.Join(dir, n), ".git/"+n)
	}
}

// gitLink is the path in a file of git's that holds one behind a key, "" where there is none.
func (b *builder) gitLink(file, key, base string) string {
	at, err := b.f.find(file)
	if err != nil || !at.exists() || !at.info.Mode.IsRegular() {
		return ""
	}
	head, err := b.h.ReadHead(at.path, 4096)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(head), "\n")
	target, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), key)
	if target = strings.TrimSpace(target); !ok || target == "" || strings.ContainsRune(target, 0) {
		return ""
	}
	if !strings.HasPrefix(target, "/") {
		target = path.Join(base, target)
	}
	return path.Clean(target)
}
