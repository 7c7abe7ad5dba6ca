package policy

import (
	"slices"
	"strings"
)

// protectedNames are the names of docs/policy.md "Protected names": what they hold
// is run or believed outside of the jail, so a writable grant does not extend to
// it. The value lists what is meant below the name; nil is the name itself.
func ProtectedParts(name string) (below []string, protected bool) {
	switch name {
	case ".git":
		return GitParts, true
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
var GitParts = []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"}

// linkParts are what of a worktree says where its git directory and its settings are.
var WorktreeParts = []string{"commondir", "gitdir", "config.worktree"}

// everyProtected lists the same as paths relative to a grant's root.
func ProtectedPaths() []string {
	return []string{
		".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".gitmodules", ".mcp.json", ".mcp-jail.toml", ".envrc", ".vscode", ".cursor", ".claude",
		".codex", ".gemini", ".idea", ".husky", ".zed", ".jp", ".jp.toml", ".windsurf", ".github/workflows",
	}
}

// HasProtectedName reports whether path is or lies below a protected name, in whatever
// directory. It is for paths outside of every grant, which no Profile protects.
func HasProtectedName(path string) bool {
	names := strings.Split(foldCase(path), "/")
	for i, name := range names {
		below, protected := ProtectedParts(name)
		if protected && (below == nil || i+1 < len(names) && slices.Contains(below, names[i+1])) {
			return true
		}
	}
	return false
}
