package diagnostics

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// pathGrant returns the rule for a right on a path, and what else the user has to do. A
// single rule decides about a path, so the new one repeats the rights that it has already.
func (a *analyzer) pathGrant(path string, missing policy.Rights, makes bool) (grant, string) {
	if (filepath.Base(path) == ".git" || a.profile.InGitInternals(path) && a.profile.Protects(policy.OpCreate, path)) && a.exists(path) != present {
		return grant{}, newRepositoryFix
	}
	if around := policy.ProtectedAround(path); missing&policy.Write != 0 && filepath.Base(around) == ".git" && a.exists(around) == absent {
		return grant{}, newRepositoryFix // the directory around it would become a repository
	}
	if dir, ok := a.gitDir(path); ok && a.exists(dir) == present {
		path, makes = dir, false
	}
	installed := false
	if dir, ok := a.packageDir(path); ok && missing.Has(policy.Execute) {
		path, installed = dir, true // a package has many programs, which change
	}
	if missing.Has(policy.Execute) {
		missing |= policy.Read // a script is read by its interpreter
	}
	if missing&policy.Write != 0 && a.isReadAbove(path) {
		missing |= policy.Read // no mount removes only the right to read: see policy.ConflictError
	}
	n := grant{path: path, rights: missing | a.ruleRights(path)}
	n.create = installed && n.rights.Has(policy.Create)
	if missing&policy.Write == 0 || a.exists(path) != absent {
		return n, ""
	}
	// docs/policy.md "Filesystem rules": a rule for a path that does not exist must ask
	// mcp-jail to create a directory.
	dir := filepath.Dir(path)
	const first = " first: a rule for a path that does not exist grants nothing"
	switch {
	case makes:
		dir = path
	case a.isReserved(path), a.exists(dir) == present && a.whyShared(dir) != "":
		return n, "create " + a.show(path) + first
	}
	n.path, n.rights = dir, missing|a.ruleRights(dir)
	if a.exists(dir) == present {
		return n, ""
	}
	// Grant only the missing directory, since others use the existing one above it.
	if !a.inWorkspace(dir) && (systemDir(dir) || systemDir(filepath.Dir(dir)) || filepath.Dir(dir) == "/") {
		return n, "create " + a.show(dir) + first // mcp-jail most likely may not create it
	}
	n.create = true
	n.rights |= policy.Read
	if makes {
		return n, "mcp-jail creates it before it starts the server"
	}
	return n, ""
}

// ruleRights returns the rights that a new rule for path repeats: all that a rule of the
// user gave there. The right to execute a runtime comes from the baseline and is not
// repeated.
func (a *analyzer) ruleRights(path string) policy.Rights {
	e, _ := a.profile.Find(path)
	if e.Origin == policy.OriginBaseline {
		return e.Rights &^ policy.Execute
	}
	return e.Rights &^ e.Added
}

// packageDir returns the outermost node_modules around path, or the Python environment
// whose program path is.
func (a *analyzer) packageDir(path string) (dir string, ok bool) {
	if before, _, found := strings.Cut(path, "/node_modules/"); found {
		return before + "/node_modules", true
	}
	bin := filepath.Dir(path)
	dir = filepath.Dir(bin)
	return dir, filepath.Base(bin) == "bin" && a.exists(filepath.Join(dir, "pyvenv.cfg")) == present
}

// isTooWide reports whether a directory is too much to grant for a single file in it.
func (a *analyzer) isTooWide(dir string) bool {
	return dir == "/" || a.programIn(dir) != "" || a.ev.UserHome != "" && policy.Within(a.ev.UserHome, dir) ||
		!a.inWorkspace(dir) && (systemDir(dir) || a.isShared(dir)) || filepath.Dir(dir) == "/"
}

// whyShared returns why a directory must not be granted for the sake of one file in it, or "".
func (a *analyzer) whyShared(dir string) string {
	if a.ev.Shared != nil && !a.inWorkspace(dir) {
		if why := a.ev.Shared(dir); why != "" {
			return why
		}
	}
	if place := a.programIn(dir); place != "" {
		return "holds " + a.show(place) + ", which the server is started from"
	}
	if !expressible(dir) || a.isTooWide(dir) {
		return "is not used by the server alone"
	}
	return ""
}

// isReserved reports whether path is a protected name that does not exist yet, or leads to
// one.
func (a *analyzer) isReserved(path string) bool {
	return a.profile.Protects(policy.OpCreate, path) || a.isUnprotected(path)
}

func (a *analyzer) isUnprotected(path string) bool {
	return slices.ContainsFunc(a.profile.Unprotected, func(u string) bool { return policy.Within(path, u) })
}

// isReservedFile reports whether path is a protected name that does not exist yet, and not
// an existing directory that leads to one.
func (a *analyzer) isReservedFile(path string) bool {
	if a.exists(path+"/.") == present {
		return a.profile.Protects(policy.OpMkdir, path) || a.isUnprotected(path)
	}
	return a.isReserved(path)
}

// isReadAbove reports whether path or a directory above it may be read.
func (a *analyzer) isReadAbove(path string) bool {
	return slices.ContainsFunc(a.profile.Entries, func(e policy.Entry) bool {
		return e.Rights.Has(policy.Read) && policy.Within(path, e.Path)
	})
}

// rightWord returns the name of a right in the configuration.
func rightWord(r policy.Rights) string {
	switch {
	case r.Has(policy.Execute):
		return "execute"
	case r&policy.Write != 0:
		return "write"
	}
	return "read"
}
