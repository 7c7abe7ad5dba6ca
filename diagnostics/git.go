package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeGitSearch analyzes the message of git that it found no repository at or above its
// working directory. edge is the mount point where git stopped looking, if it names one.
func (a *analyzer) analyzeGitSearch(edge string) finding {
	if f := a.repositoryAbove(edge); f.refused {
		return f
	}
	dir := a.profile.Workspace
	if dir == "" || a.rightsAt(dir).Has(policy.Read) || a.exists(filepath.Join(dir, ".git")) != present {
		return finding{}
	}
	return a.attributePath(Likely, dir, policy.Read, false, "the policy does not let the server read the workspace "+show.Quote(dir))
}

// repositoryAbove returns the finding that a directory above the working directory is a
// repository and the policy grants only a directory below it.
func (a *analyzer) repositoryAbove(edge string) finding {
	below := a.profile.Dir
	rights := a.profile.RightsAt(below)
	elsewhere := edge != "" && !policy.Within(below, edge)
	if elsewhere { // git worked in a directory below the edge, which it does not name
		below, rights = edge, policy.Read
	}
	if below == "" {
		return finding{}
	}
	dir := below
	for a.exists(filepath.Join(dir, ".git")) != present {
		if dir == "/" {
			return finding{}
		}
		dir = filepath.Dir(dir)
	}
	if dir == below && !elsewhere || edge != "" && !policy.Within(edge, dir) || rights == 0 || a.rightsAt(dir).Has(policy.Read) {
		return finding{}
	}
	f := a.attribute(Likely, policy.AxisFs, dir, rightWord(policy.Read), "git also looks for its repository in the directories above: it is "+a.show(dir)+", which the policy does not grant", grant{})
	if dir == "/" || a.inUserHome(dir) && a.ev.UserHome == dir || systemDir(dir) && !a.inUserHome(dir) || a.isShared(dir) || a.autorunPlace(dir) != "" {
		f.fix = "no line is proposed for it: " + a.show(dir) + " is much more than a project"
		return f
	}
	f.grant = grant{path: dir, rights: rights | policy.Read | a.profile.RightsAt(dir), workspace: a.ev.FromCommandLine && a.profile.Default && !elsewhere}
	return a.withhold(f, false)
}

// newRepositoryFix is the remedy where git could not create a repository.
const newRepositoryFix = "no rule lets a server create a repository, a worktree or a submodule where the host's git would trust it: create it outside of the jail, or in the server's HOME"

// inGitWorktree reports whether path is in an existing directory that git keeps for a
// worktree or submodule, except for the files in it that point elsewhere.
func (a *analyzer) inGitWorktree(path string) bool {
	switch filepath.Base(path) {
	case "commondir", "gitdir", "config.worktree", "config", "hooks":
		return false
	}
	return a.profile.InGitInternals(path) && a.exists(filepath.Dir(path)) == present
}

// gitDir returns the git directory that contains path, unless path is a protected name in
// it. A rule for the directory leaves those names protected.
func (a *analyzer) gitDir(path string) (dir string, ok bool) {
	before, after, found := strings.Cut(path, "/.git/")
	if !found {
		return "", false
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"} {
		if policy.Within("/"+after, "/"+name) {
			return "", false
		}
	}
	if e, ok := a.profile.Find(path); ok && e.Origin == policy.OriginProtected || a.isReserved(path) && !a.inGitWorktree(path) {
		return "", false
	}
	return filepath.Join(before, ".git"), true
}
