package paths

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/policy"
)

// RepositoryAbove returns the finding that git's repository is above the server's directory, in one
// that is not granted.
func RepositoryAbove(c *facts.Case) facts.Finding {
	below := c.Profile.Dir
	for dir := below; dir != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if c.Exists(filepath.Join(dir, ".git")) != facts.Present {
			continue
		}
		if c.RightsAt(dir).Has(policy.Read) || IsTooWide(c, dir) {
			break
		}
		f := facts.Refused(report.Likely, policy.AxisFs, dir, facts.Right(policy.Read), "git's repository is "+c.Show(dir)+", which is not granted", grants.Grant{})
		f.Grant = grants.Grant{Path: dir, Rights: policy.Read}
		return Withhold(c, f, false)
	}
	return facts.Finding{}
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
