package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pathGrant returns the rule for a right on a path, and what else the user must do. A
// single rule decides about a path, so the new one repeats the rights that it has already.
func pathGrant(c *facts.Case, path string, missing policy.Rights, makes bool) (grants.Grant, string) {
	if (filepath.Base(path) == ".git" || c.Profile.InGitInternals(path) && c.Profile.Protects(policy.OpCreate, path)) && c.Exists(path) != facts.Present {
		return grants.Grant{}, newRepositoryFix
	}
	if around := policy.ProtectedAround(path); missing&policy.Write != 0 && filepath.Base(around) == ".git" && c.Exists(around) == facts.Absent {
		return grants.Grant{}, newRepositoryFix // the directory around it would become a repository
	}
	if dir, ok := gitDir(c, path); ok && c.Exists(dir) == facts.Present {
		path, makes = dir, false
	}
	dir, installed := packageDir(c, path)
	if installed && missing.Has(policy.Execute) {
		path = dir // a package has many programs, which change
	}
	if missing&policy.Write == 0 && treeOf(c, path) == path {
		missing |= policy.Execute // what is in it is there to be started
	}
	if dir := programDir(c, path); dir != "" && missing.Has(policy.Execute) && !installed {
		path = dir
	}
	if missing.Has(policy.Execute) {
		missing |= policy.Read // a script is read by its interpreter
	}
	n := grants.Grant{Path: path, Rights: missing}
	if missing&policy.Write == 0 || c.Exists(path) != facts.Absent {
		return n, ""
	}
	// docs/policy.md "Filesystem rules": a rule for a path that does not exist must ask
	// mcp-jail to create a directory.
	dir = filepath.Dir(path)
	switch {
	case makes:
		dir = path
	case isReserved(c, path), c.Exists(dir) == facts.Present && whyShared(c, dir) != "":
		return n, "create " + c.Show(path) + firstCreate
	}
	n.Path, n.Rights = dir, missing
	if c.Exists(dir) == facts.Present {
		return n, ""
	}
	return newDirGrant(c, n, makes)
}

// newDirGrant completes the rule for a directory that does not exist.
func newDirGrant(c *facts.Case, n grants.Grant, makes bool) (grants.Grant, string) {
	dir := n.Path
	// Grant only the missing directory, since others use the existing one above it.
	if !inWorkspace(c, dir) && (systemDir(dir) || systemDir(filepath.Dir(dir)) || filepath.Dir(dir) == "/") {
		if !c.May(dir, policy.Write) {
			return grants.Grant{}, "you could not make " + c.Show(dir) + " without a jail either: give the server another directory (its documentation names the argument or the variable)"
		}
		return n, "create " + c.Show(dir) + firstCreate // mcp-jail most likely may not create it
	}
	n.Create = true
	n.Rights |= policy.Read
	if makes {
		return n, "mcp-jail creates it before it starts the server"
	}
	return n, ""
}

const firstCreate = " first: a rule for a path that does not exist grants nothing"

func packageDir(c *facts.Case, path string) (dir string, ok bool) {
	if before, _, found := strings.Cut(path, "/node_modules/"); found {
		return before + "/node_modules", true
	}
	bin := filepath.Dir(path)
	dir = filepath.Dir(bin)
	return dir, filepath.Base(bin) == "bin" && c.Exists(filepath.Join(dir, "pyvenv.cfg")) == facts.Present
}

// IsTooWide reports whether a directory is too much to grant for a single file in it.
func IsTooWide(c *facts.Case, dir string) bool {
	return dir == "/" || programIn(c, dir) != "" || c.Evidence.UserHome != "" && policy.Within(c.Evidence.UserHome, dir) ||
		!inWorkspace(c, dir) && (systemDir(dir) || isShared(c, dir)) || filepath.Dir(dir) == "/"
}

func whyShared(c *facts.Case, dir string) string {
	if c.Evidence.Shared != nil && !inWorkspace(c, dir) {
		if why := c.Evidence.Shared(dir); why != "" {
			return why
		}
	}
	if place := programIn(c, dir); place != "" {
		return "holds " + c.Show(place) + ", which the server is started from"
	}
	if !grants.Expressible(dir) || IsTooWide(c, dir) {
		return "is not used by the server alone"
	}
	return ""
}

// isReserved reports whether path is a protected name that does not exist yet, or leads to
// one.
func isReserved(c *facts.Case, path string) bool {
	return c.Profile.Protects(policy.OpCreate, path) || isUnprotected(c, path)
}

func isUnprotected(c *facts.Case, path string) bool {
	return slices.ContainsFunc(c.Profile.Unprotected, func(u string) bool { return policy.Within(path, u) })
}

func isReadAbove(c *facts.Case, path string) bool {
	return slices.ContainsFunc(c.Profile.Entries, func(e policy.Entry) bool {
		return e.Rights.Has(policy.Read) && policy.Within(path, e.Path)
	})
}
