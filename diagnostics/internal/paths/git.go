package paths

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// AnalyzeGitSearch analyzes the message of git that it found no repository at or above its
// working directory. edge is the mount point where git stopped looking, if it names one.
func AnalyzeGitSearch(c *facts.Case, edge string) facts.Finding {
	if f := repositoryAbove(c, edge); f.Refused {
		return f
	}
	dir := c.Profile.Workspace
	if dir == "" || c.RightsAt(dir).Has(policy.Read) || c.Exists(filepath.Join(dir, ".git")) != facts.Present {
		return facts.Finding{}
	}
	return Attribute(c, report.Likely, dir, policy.Read, false, "the policy does not let the server read the workspace "+show.Quote(dir))
}

func repositoryAbove(c *facts.Case, edge string) facts.Finding {
	below := c.Profile.Dir
	rights := c.Profile.RightsAt(below)
	elsewhere := edge != "" && !policy.Within(below, edge)
	if elsewhere { // git worked in a directory below the edge, which it does not name
		below, rights = edge, policy.Read
	}
	if below == "" {
		return facts.Finding{}
	}
	// The nearest directory with a .git.
	dir := below
	for c.Exists(filepath.Join(dir, ".git")) != facts.Present {
		if dir == filepath.Dir(dir) {
			return facts.Finding{}
		}
		dir = filepath.Dir(dir)
	}
	if dir == below && !elsewhere || edge != "" && !policy.Within(edge, dir) || rights == 0 || c.RightsAt(dir).Has(policy.Read) {
		return facts.Finding{}
	}
	f := facts.Refused(report.Likely, policy.AxisFs, dir, facts.Right(policy.Read), "git also looks for its repository in the directories above: it is "+c.Show(dir)+", which the policy does not grant", grants.Grant{})
	if dir == "/" || inUserHome(c, dir) && c.Evidence.UserHome == dir || systemDir(dir) && !inUserHome(c, dir) || isShared(c, dir) || Harm(c, dir, policy.Write).Never != "" {
		return f.Unfixable("no line is proposed for it: " + c.Show(dir) + " is much more than a project")
	}
	f.Grant = grants.Grant{Path: dir, Rights: rights | policy.Read | c.Profile.RightsAt(dir), Workspace: c.Evidence.FromCommandLine && c.Profile.Default && !elsewhere}
	return withhold(c, f, false)
}

// newRepositoryFix is the remedy where git could not create a repository.
const newRepositoryFix = "no rule lets a server create a repository, a worktree or a submodule where the host's git would trust it: create it outside of the jail, or in the server's HOME"

// inGitWorktree reports whether path is in an existing directory that git keeps for a
// worktree or submodule, except for the files in it that point elsewhere.
func inGitWorktree(c *facts.Case, path string) bool {
	switch filepath.Base(path) {
	case "commondir", "gitdir", "config.worktree", "config", "hooks":
		return false
	}
	return c.Profile.InGitInternals(path) && c.Exists(filepath.Dir(path)) == facts.Present
}

// gitDir returns the git directory that contains path, unless path is a protected name in
// it. A rule for the directory leaves those names protected.
func gitDir(c *facts.Case, path string) (dir string, ok bool) {
	before, after, found := strings.Cut(path, "/.git/") // after is a path in the git directory
	if !found {
		return "", false
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"} {
		if policy.Within("/"+after, "/"+name) {
			return "", false
		}
	}
	if e, ok := c.Profile.Find(path); ok && e.Origin == policy.OriginProtected || isReserved(c, path) && !inGitWorktree(c, path) {
		return "", false
	}
	return filepath.Join(before, ".git"), true
}
