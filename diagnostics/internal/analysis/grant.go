package analysis

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
)

// grantWriter shows paths and objects as the user writes them.
type grantWriter struct{ UserHome string }

// Object returns an object as mcp-jail grant takes it: it means the same in every directory.
func (w grantWriter) Object(o change.Object) change.Object {
	if o.Fs.Path != "" {
		o.Fs.Path = w.whole(o.Fs.Path)
	}
	return o
}

// whole returns a path as it means the same in every directory.
func (w grantWriter) whole(path string) string {
	if home := w.UserHome; home != "" && home != "/" && policy.Within(path, home) {
		return "~/" + strings.TrimPrefix(path[len(home):], "/")
	}
	return path
}

// isWritable reports whether s can be written in a configuration.
func isWritable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// expressible reports whether a rule can name a path: policy refuses line breaks and
// globs.
func expressible(path string) bool {
	return isWritable(path) && len(path) < 4096 && !strings.ContainsAny(path, "\r\n") &&
		!strings.Contains(path, "**") && !strings.HasSuffix(path, "/*")
}

// pathGrant returns the rule for a right on a path, and what else the user must do. A
// single rule decides about a path, so the new one repeats the rights that it has already.
func pathGrant(c *Case, path string, missing policy.Rights, makes bool) (change.Object, string) {
	if (filepath.Base(path) == ".git" || c.Profile.InGitInternals(path) && c.Profile.Protects(policy.OpCreate, path)) && c.Exists(path) != Present {
		return change.Object{}, newRepositoryFix
	}
	if around := policy.ProtectedAround(path); missing&policy.Write != 0 && filepath.Base(around) == ".git" && c.Exists(around) == Absent {
		return change.Object{}, newRepositoryFix // the directory around it would become a repository
	}
	if dir, ok := gitDir(c, path); ok && c.Exists(dir) == Present {
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
	n := change.Path(path, missing)
	if missing&policy.Write == 0 || c.Exists(path) != Absent {
		return n, ""
	}
	// docs/policy.md "Filesystem rules": a rule for a path that does not exist must ask
	// mcp-jail to create a directory.
	dir = filepath.Dir(path)
	switch {
	case makes:
		dir = path
	case change.IsReserved(c.Profile, path), c.Exists(dir) == Present && whyShared(c, dir) != "":
		return n, "create " + c.Show(path) + firstCreate
	}
	n = change.Path(dir, missing)
	if c.Exists(dir) == Present {
		return n, ""
	}
	return newDirGrant(c, n, makes)
}

// newDirGrant completes the rule for a directory that does not exist.
func newDirGrant(c *Case, n change.Object, makes bool) (change.Object, string) {
	dir := n.Fs.Path
	// Grant only the missing directory, since others use the existing one above it.
	if !inWorkspace(c, dir) && (systemDir(dir) || systemDir(filepath.Dir(dir)) || filepath.Dir(dir) == "/") {
		if !c.may(dir, policy.Write) {
			return change.Object{}, "you could not make " + c.Show(dir) + " without a jail either: give the server another directory (its documentation names the argument or the variable)"
		}
		return n, "create " + c.Show(dir) + firstCreate // mcp-jail most likely may not create it
	}
	n.Fs.Path += "/" // docs/policy.md "Filesystem rules": the slash asks mcp-jail to create it
	n = n.Plus(policy.Read)
	if makes {
		return n, "if you allow it, mcp-jail makes " + c.Show(dir) + " first"
	}
	return n, ""
}

const firstCreate = " first: a rule for a path that does not exist grants nothing"

func packageDir(c *Case, path string) (dir string, ok bool) {
	if before, _, found := strings.Cut(path, "/node_modules/"); found {
		return before + "/node_modules", true
	}
	bin := filepath.Dir(path)
	dir = filepath.Dir(bin)
	return dir, filepath.Base(bin) == "bin" && c.Exists(filepath.Join(dir, "pyvenv.cfg")) == Present
}

// IsTooWide reports whether a directory is too much to grant for a single file in it.
func IsTooWide(c *Case, dir string) bool {
	return dir == "/" || change.ProgramIn(c.Profile, dir) != "" || c.Evidence.UserHome != "" && policy.Within(c.Evidence.UserHome, dir) ||
		!inWorkspace(c, dir) && (systemDir(dir) || isShared(c, dir)) || filepath.Dir(dir) == "/"
}

func whyShared(c *Case, dir string) string {
	if !inWorkspace(c, dir) {
		if why := c.Evidence.Host.Shared(dir); why != "" {
			return why
		}
	}
	if place := change.ProgramIn(c.Profile, dir); place != "" {
		return "holds " + c.Show(place) + ", which the server is started from"
	}
	if !expressible(dir) || IsTooWide(c, dir) {
		return "is not used by the server alone"
	}
	return ""
}

func isReadAbove(c *Case, path string) bool {
	return slices.ContainsFunc(c.Profile.Entries, func(e policy.Entry) bool {
		return e.Rights.Has(policy.Read) && policy.Within(path, e.Path)
	})
}

func inWorkspace(c *Case, path string) bool {
	return c.Profile.Workspace != "" && policy.Within(path, c.Profile.Workspace)
}

// systemDir and isShared say nothing of harm: they decide whether the directory around a file is proposed for the sake of
// it. systemDir reports whether path belongs to the system. Files below /opt and /srv, and in
// much of /var, belong to other owners.
func systemDir(path string) bool {
	switch path {
	case "/opt", "/private/var", "/srv", "/var":
		return true
	}
	for _, dir := range []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr",
		"/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/run", "/var/spool", "/Applications", "/Library", "/System", "/private/etc",
	} {
		if policy.Within(path, dir) {
			return true
		}
	}
	return false
}

// sharedPaths are directories of a home in which many programs keep their files.
var sharedPaths = []string{".config", ".local", ".local/share", ".local/state", ".local/lib", ".cache", ".var", ".var/app", "snap", "Library", "Library/Application Support", "Library/Caches", "Library/Preferences"}

func isShared(c *Case, dir string) bool {
	switch dir {
	case "/home", "/Users", "/Volumes", "/mnt", "/media", "/private", "/tmp", "/var/tmp", "/private/tmp":
		return true
	}
	return filepath.Dir(dir) == "/" && systemDir(dir) || slices.ContainsFunc(sharedPaths, func(name string) bool {
		place := filepath.Join(c.Evidence.UserHome, name)
		return c.Evidence.UserHome != "" && (dir == place || dir == c.Canonical(place))
	})
}
