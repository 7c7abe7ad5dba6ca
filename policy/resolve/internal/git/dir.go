package git

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ProtectDir protects the parts of a git directory with any name, and the parts of its submodules
// and worktrees. named is what names them, or "" for the parts' own names.
func (b *Protector) ProtectDir(dir, named string) {
	b.dirs = append(b.dirs, b.paths.Canonical(dir))
	for _, n := range policy.GitParts {
		b.calls.Protect(path.Join(dir, n), cmp.Or(named, ".git/"+n))
	}
	b.ProtectInternals(dir)
}

// IsDir reports whether git would take a directory for a git directory.
func (b *Protector) IsDir(dir string) bool {
	has := func(name string) bool { return b.paths.Exists(path.Join(dir, name)) }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// Dirs returns the git directories in and around writable grants that no name tells.
func (b *Protector) Dirs(out *policy.Profile) (dirs []string) {
	for _, dir := range b.dirs {
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

// ProtectInternals protects the files in a git directory that its worktrees and
// submodules read, wherever they are checked out.
func (b *Protector) ProtectInternals(git string) {
	for _, name := range b.calls.List(path.Join(git, "worktrees")) {
		for _, n := range policy.WorktreeParts {
			b.calls.Protect(path.Join(git, "worktrees", name, n), ".git/"+n)
		}
		b.ProtectInternals(path.Join(git, "worktrees", name)) // of submodules in that worktree
	}
	todo := []string{path.Join(git, "modules")}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, name := range b.calls.List(dir) { // the name of a submodule may have slashes
			sub := path.Join(dir, name)
			if at, err := b.paths.Resolve(sub); err != nil || at.Path != sub || !at.Info.Mode.IsDir() {
				continue
			}
			// Only a part of a submodule's name so far.
			if !b.paths.Exists(path.Join(sub, "HEAD")) {
				todo = append(todo, sub)
				continue
			}
			b.ProtectDir(sub, "")
			b.ProtectConfigured(sub, "")
		}
	}
}

// ProtectLinkFile follows a .git that is a file, as in worktrees and submodules: "gitdir:
// PATH" names the directory, whose commondir contains the hooks.
func (b *Protector) ProtectLinkFile(file string) {
	dir := b.readGitLink(file, "gitdir:", path.Dir(file))
	if dir == "" {
		return
	}
	dirs := []string{dir}
	if common := b.readGitLink(path.Join(dir, "commondir"), "", dir); common != "" {
		dirs = append(dirs, common)
	}
	tree, configs := tree{path.Dir(file), dir}, []string{path.Join(dir, "config.worktree")}
	for _, d := range dirs {
		configs = append(configs, path.Join(d, "config"))
	}
	if b.calls.Writes() {
		b.protectForTree(configs, tree)
	}
	for _, d := range dirs {
		b.found(d)
		b.ProtectDir(d, "")
	}
	// These files locate the hooks, so they must not change.
	for _, n := range []string{"commondir", "gitdir"} {
		b.calls.Protect(path.Join(dir, n), ".git/"+n)
	}
}

// readGitLink returns the path after a key in the first line of one of git's files, or "".
func (b *Protector) readGitLink(file, key, base string) string {
	line, _, _ := strings.Cut(b.paths.ReadStart(file), "\n")
	target, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), key)
	if target = strings.TrimSpace(target); !ok || target == "" || strings.ContainsRune(target, 0) {
		return ""
	}
	if !strings.HasPrefix(target, "/") {
		target = path.Join(base, target)
	}
	return path.Clean(target)
}
