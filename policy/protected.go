package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
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

// ProtectedParts reports whether a name is protected (docs/policy.md "Protected names"): the
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

// Protected names are judged by the path on the host, whichever rule leads to it. A rule for a git
// directory, or for a directory in one, leaves protected what a rule for the working tree does.

// hasProtectedPart reports whether a path is at or below a protected name that no rule names.
//
// Names are compared without case: some filesystems ignore case, and so do the programs
// that read these files.
func (p *Profile) hasProtectedPart(file string, op Op) bool {
	given := strings.Split(file, "/")
	names := strings.Split(foldCase(file), "/")
	rule := ""
	for i := range names {
		n := p.protectedPart(strings.Join(names[:i+1], "/"), names[i:], op)
		if n == 0 {
			continue
		}
		// Looked up once, and only if a protected name is in the path at all.
		if rule == "" {
			rule = p.ruleAround(file)
		}
		// A rule at the protected name, or below it, names it; a rule above it does not.
		if !Within(rule, path.Clean(strings.Join(given[:i+n], "/"))) {
			return true
		}
	}
	return false
}

// protectedPart returns how many of names belong to the protected name that begins with the
// first, or 0. at is the path up to that name, as foldCase returns it. An operation on a name below it counts as one on it.
func (p *Profile) protectedPart(at string, names []string, op Op) int {
	name := names[0]
	below, protected := ProtectedParts(name)
	if slices.ContainsFunc(p.GitDirs, func(dir string) bool { return foldCase(dir) == at }) {
		name, below, protected = ".git", GitParts, true
	}
	if n := p.hiddenPart(names); n > 0 {
		return n
	}
	switch {
	case !protected:
	case below == nil:
		return 1
	case len(names) == 1:
		// A new .git is refused as a whole, so that no repository is left half made. Another
		// such directory is harmless without its protected parts: it may be made and removed.
		if name == ".git" || op != OpMkdir && op != OpRemove {
			return 1
		}
	case slices.Contains(below, names[1]):
		return 2
	case name == ".git":
		if n := gitInternalPart(names[1:]); n > 0 {
			return 1 + n
		}
	}
	return 0
}

// hiddenPart returns how many of names belong to a name of Hidden that begins with the first, or 0.
func (p *Profile) hiddenPart(names []string) (n int) {
	for _, hidden := range p.Hidden {
		pattern, except := strings.CutPrefix(foldCase(hidden), "!")
		parts := strings.Split(pattern, "/")
		if len(parts) > len(names) || !matchParts(parts, names) {
			continue
		}
		if n = len(parts); except {
			n = 0
		}
	}
	return n
}

// matchParts reports whether the first names match all parts.
func matchParts(parts, names []string) bool {
	for i, part := range parts {
		if ok, _ := path.Match(part, names[i]); !ok {
			return false
		}
	}
	return true
}

// leadsToHidden reports whether a name is that of a directory in a name of Hidden.
func (p *Profile) leadsToHidden(name string) bool {
	return slices.ContainsFunc(p.Hidden, func(hidden string) bool {
		parts := strings.Split(foldCase(hidden), "/")
		return slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool { return matchParts([]string{part}, []string{foldCase(name)}) })
	})
}

// HasProtectedName reports whether a path is or lies below a protected name, or one that is hidden at any depth.
func (p *Profile) HasProtectedName(file string) bool {
	names := strings.Split(foldCase(file), "/")
	for i := range names {
		if p.hiddenPart(names[i:]) > 0 {
			return true
		}
	}
	return HasProtectedName(file)
}

// ruleAround returns the path of the nearest rule at or around a path, or "/".
func (p *Profile) ruleAround(file string) string {
	for file != "/" {
		e, ok := p.Find(file)
		if !ok || e.Origin == OriginRule {
			return e.Path
		}
		file = path.Dir(e.Path)
	}
	return file
}

// gitInternalPart returns how many of names belong to a file that git trusts in the directories of
// submodules and worktrees, or 0. names are a path's components below the git directory. The
// directory of a new submodule is refused as a whole, because git would take it for its own clone.
func gitInternalPart(names []string) int {
	parts := GitParts
	switch names[0] {
	case "modules":
		if len(names) <= 2 {
			return len(names)
		}
	case "worktrees":
		if parts = WorktreeParts; len(names) > 2 { // a worktree has git directories of submodules of its own
			if n := gitInternalPart(names[2:]); n > 0 {
				return 2 + n
			}
		}
	default:
		return 0
	}
	for i := 2; i < len(names); i++ {
		switch names[i] {
		case "heads", "remotes", "tags":
			if names[i-1] == "refs" {
				return 0 // the name of a branch
			}
		}
		if slices.Contains(parts, names[i]) || names[i-2] == "worktrees" && slices.Contains(WorktreeParts, names[i]) {
			return i + 1
		}
	}
	return 0
}

// InGitInternals reports whether path lies in a directory in which git keeps the git
// directories of worktrees and submodules. A git directory that was made elsewhere must
// not be moved there.
func (p *Profile) InGitInternals(file string) bool {
	folded := foldCase(file) + "/"
	if strings.Contains(folded, "/.git/modules/") || strings.Contains(folded, "/.git/worktrees/") {
		return true
	}
	return slices.ContainsFunc(p.GitDirs, func(dir string) bool {
		dir = foldCase(dir)
		return strings.HasPrefix(folded, dir+"/modules/") || strings.HasPrefix(folded, dir+"/worktrees/")
	})
}

func (p *Profile) inGitDir(file string) bool {
	folded := foldCase(file)
	return strings.Contains(folded+"/", "/.git/") || slices.ContainsFunc(p.GitDirs, func(dir string) bool { return Within(folded, foldCase(dir)) })
}

// IgnoresCase reports whether the entry of a path may be passed by under another spelling: see IgnoreCase.
func (p *Profile) IgnoresCase(name string) bool {
	return slices.ContainsFunc(p.IgnoreCase, func(dir string) bool { return Within(path.Dir(name), dir) })
}

// foldCase returns a path as case-insensitive filesystems compare it. They also split
// ligatures and drop invisible characters (Linux: fs/unicode, for ext4 and f2fs). vfat,
// exfat and SMB ignore dots and spaces at the end of a name.
func foldCase(s string) string {
	if isFolded(s) {
		return s
	}
	if strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		s = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
		s = strings.NewReplacer("\u017f", "s", "\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st").Replace(s)
	}
	s = strings.ToLower(s)
	if !strings.Contains(s, "./") && !strings.Contains(s, " /") && strings.TrimRight(s, ". ") == s {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		names[i] = cmp.Or(strings.TrimRight(name, ". "), name)
	}
	return strings.Join(names, "/")
}

// FoldUnprotected brings the names in Unprotected into the form in which they are compared, which then is fast.
func (p *Profile) FoldUnprotected() {
	for i, name := range p.Unprotected {
		p.Unprotected[i] = foldCase(name)
	}
}

// isFolded reports whether foldCase leaves a path as it is. It does so with most paths.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c > unicode.MaxASCII || 'A' <= c && c <= 'Z' || (c == '.' || c == ' ') && (i+1 == len(s) || s[i+1] == '/') {
			return false
		}
	}
	return true
}
