package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// git speaks of its places in words of its own. They are not all paths, and the
// path that it names is seldom the one that a rule should be about: it reads and
// writes all over its directory.
var (
	// fatal: not a git repository: /x/.git/worktrees/y   (what a worktree points to)
	gitPointer = lazy{text: `not a git repository: (\S.*)$`}
	// error: insufficient permission for adding an object to repository database .git/objects
	// error: could not lock config file .git/config: Read-only file system
	gitLock    = lazy{text: `could not lock config file (\S.*): [A-Z]`}
	gitObjects = lazy{text: `insufficient permission for adding an object to repository database (\S.*)$`}
)

// gitIn extracts what a line of git names.
func gitIn(line string, f fault) []mention {
	if m := gitPointer.re().FindStringSubmatch(line); m != nil {
		return []mention{pathMention(faultAbsent, "read", m[1])}
	}
	if m := gitObjects.re().FindStringSubmatch(line); m != nil {
		return []mention{pathMention(faultRefused, "write", m[1])}
	}
	if m := gitLock.re().FindStringSubmatch(line); m != nil {
		return []mention{pathMention(f, "create", m[1]+".lock")}
	}
	if strings.Contains(line, "not a git repository (or any") || strings.Contains(line, "fatal: not in a git directory") {
		return []mention{{kind: mentionWorkspace, fault: faultAbsent}}
	}
	return nil
}

// workspace judges a git that found no repository around its working directory,
// where there is one in the workspace.
func (j *judge) workspace() verdict {
	dir := j.profile.Workspace
	if dir == "" || j.rightsAt(dir).Has(policy.Read) || j.exists(filepath.Join(dir, ".git")) != present {
		return verdict{}
	}
	return j.blamePath(Likely, dir, policy.Read, false, "the policy does not let the server read the workspace "+quote(dir))
}

// newRepository is what there is to do about a repository that git could not make.
const newRepository = "no rule lets a server make a repository, a worktree or a submodule where the host's git would believe what it holds: make it outside of the jail, or in the server's HOME"

// besidesGit tells a path where git keeps its directories for worktrees and submodules.
func besidesGit(path string) bool {
	return strings.Contains(path+"/", "/.git/worktrees/") || strings.Contains(path+"/", "/.git/modules/")
}

// gitDir is the git directory that path lies in, unless path is a protected name
// of it. A rule for the directory leaves those protected.
func (j *judge) gitDir(path string) (dir string, ok bool) {
	before, after, found := strings.Cut(path, "/.git/")
	if !found {
		return "", false
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir"} {
		if policy.Within("/"+after, "/"+name) {
			return "", false
		}
	}
	if e, ok := j.profile.Find(path); ok && e.Origin == policy.OriginProtected || j.reserved(path) {
		return "", false
	}
	return filepath.Join(before, ".git"), true
}
