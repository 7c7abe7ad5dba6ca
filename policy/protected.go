package policy

import (
	"slices"
	"strings"
	"sync"
)

// protectedNames are protected as a whole, in any directory.
var protectedNames = strings.Fields(`
	.gitmodules .mcp.json .mcp-jail.toml .envrc .vscode .cursor .claude .codex .gemini .idea .husky .zed .jp .jp.toml .windsurf
	.qwen .roo .kilocode .kilo kilo.json kilo.jsonc .opencode opencode.json opencode.jsonc .crush .crush.json crush.json .crushrc crushrc
	.warp .amazonq .kiro .junie .continue`)

// protectedParts has the names in a directory of a name that are protected, nil for all of it.
var protectedParts = sync.OnceValue(func() map[string][]string {
	parts := map[string][]string{".git": GitParts, ".hg": {"hgrc", "hgrc-not-shared", "sharedpath"}, ".github": {"workflows", "mcp.json"}}
	for _, name := range protectedNames {
		parts[name] = nil
	}
	return parts
})

// ProtectedParts reports whether a name is protected (docs/protected.md "Protected names"): the
// user's programs run or trust its content outside the jail, so a writable grant does not
// extend to it. below are the protected names in the directory; nil means all of it.
func ProtectedParts(name string) (below []string, protected bool) {
	below, protected = protectedParts()[name]
	return below, protected
}

// GitParts are the names in a git directory that decide which programs git starts.
// commondir names the directory that has the other parts. remotes and branches name the
// repository of a push if the configuration does not, and so the hooks that the push runs.
var GitParts = []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"}

// WorktreeParts are the files in the git directory of a worktree that name its repository
// and its settings.
var WorktreeParts = []string{"commondir", "gitdir", "config.worktree"}

// ProtectedPaths returns, as relative paths, the names that are protected in the root of each
// grant with create even if they do not exist.
func ProtectedPaths() []string {
	return append([]string{".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".github/workflows", ".github/mcp.json"}, protectedNames...)
}

// HasProtectedName reports whether path is or lies below a protected name, in any
// directory. It is for paths outside of every grant, which no Profile protects. Slashes are between its names: for
// those of Windows, see hostfs.HasProtectedName.
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

// ProtectedAround returns the path of the protected name that a directory is, or lies in, or "". All
// of a git directory counts: its parts are protected as seen from around it.
func ProtectedAround(dir string) string {
	names := strings.Split(dir, "/")
	for i := range names {
		name, rest := foldCase(names[i]), names[i+1:]
		switch below, protected := ProtectedParts(name); {
		case !protected:
		case name == ".git" || name == ".hg" || below == nil && !IsClientsCopy(strings.Join(rest, "/")):
			return strings.Join(names[:i+1], "/")
		case len(rest) > 0 && slices.Contains(below, foldCase(rest[0])):
			return strings.Join(names[:i+2], "/")
		}
	}
	return ""
}

// IsClientsCopy reports whether a path, relative to the directory of a client, is or lies in a working
// copy of a project that the client made there. That is the user's work, and decides nothing.
func IsClientsCopy(rel string) bool {
	names := strings.Split(strings.Trim(rel, "/"), "/")
	if names[0] == "antigravity" {
		names = names[1:]
	}
	return len(names) > 1 && slices.Contains([]string{"worktrees", "worktree", "playground", "scratch"}, names[0])
}
