package policy

import (
	"path"
	"slices"
	"strings"
)

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
