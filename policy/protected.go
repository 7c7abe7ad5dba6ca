package policy

import (
	"slices"
	"strings"
)

// ProtectedParts reports whether a name is protected (docs/protected.md "Protected names"): the
// user's programs run or trust its content outside the jail, so a writable grant does not
// extend to it. below are the protected names in the directory; nil means all of it.
func ProtectedParts(name string) (below []string, protected bool) {
	switch name {
	case ".git":
		return GitParts, true
	case ".hg":
		return []string{"hgrc", "hgrc-not-shared", "sharedpath"}, true
	case ".github":
		return []string{"workflows", "mcp.json"}, true
	case ".qwen", ".roo", ".kilocode", ".kilo", "kilo.json", "kilo.jsonc", ".opencode", "opencode.json", "opencode.jsonc", ".crush.json", "crush.json", ".amazonq", ".kiro", ".junie", ".continue":
		return nil, true // of further MCP clients
	case ".gitmodules", ".mcp.json", ".mcp-jail.toml", ".envrc", ".vscode", ".cursor", ".claude", ".codex", ".gemini", ".idea", ".husky", ".zed", ".jp", ".jp.toml", ".windsurf":
		return nil, true
	}
	return nil, false
}

// GitParts are the names in a git directory that decide which programs git starts.
// commondir names the directory that has the other parts. remotes and branches name the
// repository of a push if the configuration does not, and so the hooks that the push runs.
var GitParts = []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"}

// WorktreeParts are the files in the git directory of a worktree that name its repository
// and its settings.
var WorktreeParts = []string{"commondir", "gitdir", "config.worktree"}

// ProtectedPaths returns, as relative paths, the names that are protected in the root of each
// grant with create even if they do not exist. They are a subset of the names of ProtectedParts.
func ProtectedPaths() []string {
	return []string{
		".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".gitmodules", ".mcp.json", ".mcp-jail.toml", ".envrc", ".vscode", ".cursor", ".claude",
		".codex", ".gemini", ".idea", ".husky", ".zed", ".jp", ".jp.toml", ".windsurf", ".github/workflows", ".github/mcp.json",
		".qwen", ".roo", ".kilocode", ".kilo", "kilo.json", "kilo.jsonc", ".opencode", "opencode.json", "opencode.jsonc", ".crush.json", "crush.json", ".amazonq", ".kiro", ".junie", ".continue",
	}
}

// HasProtectedName reports whether path is or lies below a protected name, in any
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
