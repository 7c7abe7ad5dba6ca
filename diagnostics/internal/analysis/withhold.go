package analysis

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Harm judges a grant of rights at a path.
func Harm(c *Case, path string, rights policy.Rights) (h policy.Harm) {
	if c.Evidence.Harm != nil {
		h = c.Evidence.Harm(path, rights)
	}
	return h
}

// HarmOfGrant judges a grant by the rights that the server does not have already.
func HarmOfGrant(c *Case, o change.Object) (h policy.Harm) {
	rights := o.Fs.Rights()
	if rights&^c.Profile.RightsAt(o.At())&policy.Write == 0 && !isReserved(c, o.At()) {
		rights &^= policy.Write
	}
	return Harm(c, o.At(), rights)
}

// WriteForbidden tells why no line is proposed that lets a server write to path or below
// it: programs outside the jail run or obey that file, or the jail itself is built from
// it. It returns "" if no reason is known.
//
// Invariant: no proposed rule adds a right to write to such a place. No proposed rule adds
// one to a directory that contains such a place, except in the workspace, where the policy
// keeps protected names out of every grant.
func WriteForbidden(c *Case, path string) string {
	entry, _ := c.Profile.Find(path)
	switch {
	case filepath.Base(path) == ".git" && c.Exists(path+"/.") == Present && !c.Profile.InGitInternals(path):
		// The protected names in it stay protected.
	case entry.Origin == policy.OriginProtected, c.Profile.InGitInternals(path), c.Profile.HasProtectedName(path):
		return c.Show(path) + " is a protected file: programs outside the jail run or trust what is written there"
	case isServerProgram(c, path):
		return c.Show(path) + " is a file that the server is started from"
	case c.isSystem(path) && entry.Rights.Has(policy.Execute) && !isServerPackage(c, path):
		return c.Show(path) + " belongs to the system"
	}
	if h := Harm(c, path, policy.Write); h.Never != "" {
		return h.Say(c.Show(path))
	}
	if place := programIn(c, path); place != "" {
		return c.Show(path) + " holds " + c.Show(place) + ", which the server is started from"
	}
	return ""
}

func inUserHome(c *Case, path string) bool {
	return c.Evidence.UserHome != "" && c.Evidence.UserHome != "/" && policy.Within(path, c.Evidence.UserHome)
}

func isServerProgram(c *Case, path string) bool {
	p := c.Profile
	if path == p.Program || slices.Contains(p.Programs, path) || slices.Contains(p.Loaders, path) {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part policy.Part) bool {
		return !part.Work && (path == part.Path || !inWorkspace(c, path) && policy.Within(path, part.Path))
	})
}

func isServerPackage(c *Case, path string) bool {
	return slices.ContainsFunc(c.Profile.Parts, func(part policy.Part) bool { return part.Work && policy.Within(path, part.Path) })
}

func programIn(c *Case, dir string) string {
	if inWorkspace(c, dir) {
		return ""
	}
	if c.Profile.Program != "" && policy.Within(c.Profile.Program, dir) {
		return c.Profile.Program
	}
	for _, part := range c.Profile.Parts {
		if policy.Within(part.Path, dir) && part.Path != "" {
			return part.Path
		}
	}
	return ""
}

// Withhold removes a grant that must not be proposed and gives the reason instead. Text of
// a server without a record of the jail never leads to a grant for secrets.
func Withhold(c *Case, f Finding, dials bool) Finding {
	at, rights := f.Object.At(), f.Object.Fs.Rights()
	if at == "" {
		return f
	}
	why := ""
	if !dials && (rights&^c.Profile.RightsAt(at)&policy.Write != 0 || rights&policy.Write != 0 && isReserved(c, at)) {
		why = WriteForbidden(c, at)
	}
	named := f.Hint.Attribution != report.Certain // the server chooses its words: they lead to no key
	if why == "" && named && IsSensitive(c, at) {
		if dials {
			return f.Unfixable(notSuggested + ": " + Harm(c, at, rights).Say(c.Show(at)))
		}
		f.Hint.Cause = c.Who() + " probably looked for " + c.Show(f.Hint.Target) + ". The jail hides keys and passwords"
		f.Hint.Whole = true
		return f.Unfixable(notSuggested + ": a server that gets this can use it as you")
	}
	if why == "" {
		return f
	}
	return f.Unfixable(notSuggested + ": " + why)
}

// notSuggested begins the reason why a grant is not proposed.
const notSuggested = "mcp-jail does not suggest allowing it"

// IsSensitive reports whether path holds keys, tokens or passwords, or is a directory of
// them.
func IsSensitive(c *Case, path string) bool {
	h := Harm(c, path, policy.Read)
	return h.Secret && h.Never == ""
}

// companions match the names of files that programs create beside another file and then
// rename or remove. Such a program needs rights on the directory. The first group is the
// name of the other file.
var (
	databaseFile = show.Pattern(`^(.+)-(?:journal|wal|shm)$`) // SQLite
	companions   = []func() *regexp.Regexp{
		databaseFile,
		show.Pattern(`^\.(.+)\.sw[a-z]$`), // vim
		show.Pattern(`^(.+)~$`),           // backups
		show.Pattern(`^\.#(.+)$`),         // Emacs
		show.Pattern(`^\.~lock\.(.+)#$`),  // LibreOffice
		show.Pattern(`^(.+)\.lock$`),      // locks
		show.Pattern(`^\.?(.+?)\.(?:[0-9A-Za-z_-]+\.)?te?mp(?:[.-]?[0-9A-Za-z_-]+)?$`), // m.json.1234.tmp, m.json.tmp-x
		show.Pattern(`^(.+\.[a-z]+)\.(?:\d{3,}|[0-9a-f]{6,})$`),                        // write-file-atomic
		show.Pattern(`^\.(.+)\.[0-9A-Za-z]{6}$`),                                       // rsync
		show.Pattern(`^()\.?(?:te?mp|sed|goutputstream)[-_]?[0-9A-Za-z_-]{4,}$`),       // names that belong to no other file
	}
	databaseName = show.Pattern(`(?i)\.(?:db3?|sqlite3?|sdb)$`)
)

// companionOf reports whether path has the name of a companion file, and returns the file
// that it belongs to, or "" if the name does not tell.
func companionOf(path string) (owner string, ok bool) {
	name := filepath.Base(path)
	for _, c := range companions { // the special ones come before the general ones
		if m := c().FindStringSubmatch(name); m != nil {
			if m[1] == "" {
				return "", true
			}
			return filepath.Join(filepath.Dir(path), m[1]), true
		}
	}
	return "", false
}

// MentionsSQLite reports whether a line mentions SQLite.
func MentionsSQLite(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return words.ContainsAny(strings.ToLower(line), []string{"sqlite", "unable to open database", "readonly database"})
	})
}

func isSQLiteFile(c *Case, path string) bool {
	name := filepath.Base(path)
	return databaseFile().MatchString(name) || c.MentionsSQLite && databaseName().MatchString(name)
}

// attributeCompanion returns the finding that a right to write path is missing, where a
// rule for path alone would not help because the program needs the directory. ok is false
// for all other files.
func attributeCompanion(c *Case, sure report.Attribution, path string, missing policy.Rights, cause string) (f Finding, ok bool) {
	owner, beside := companionOf(path)
	database := isSQLiteFile(c, path)
	dir := filepath.Dir(path)
	if _, git := gitDir(c, path); !beside && !database || git || missing&policy.Write == 0 || missing.Has(policy.Execute) || c.Exists(dir) == Absent {
		return f, false
	}
	if database || beside && owner == "" {
		missing |= policy.Read // mkstemp also opens the new file for reading
	}
	f = Refused(sure, policy.AxisFs, path, RightName(missing), cause, change.Object{})
	if why := whyProtected(c, path, owner); why != "" { // no directory to which the file moves would help
		return f.Unfixable(notSuggested + ": " + why), true
	}
	if why := whyShared(c, dir); why != "" {
		f.Fix = "files beside another need a rule for the directory, but " + c.Show(dir) + " " + why + ": configure the server to keep the file in a directory of its own (its documentation names the argument, or the variable to grant)"
		return f, true
	}
	f.Object, _ = pathGrant(c, dir, missing, false)
	f.Object = f.Object.Plus(policy.Write)
	return f, true
}

func whyProtected(c *Case, path, owner string) string {
	names := []string{path}
	if owner != "" {
		names = append(names, owner, filepath.Join(filepath.Dir(owner), "."+filepath.Base(owner))) // the dot of .x.tmp may be that of .x
	}
	for _, name := range names {
		entry, _ := c.Profile.Find(name)
		if entry.Origin == policy.OriginProtected || c.Profile.InGitInternals(name) || c.Profile.HasProtectedName(name) || Harm(c, name, policy.Write).Never != "" {
			return WriteForbidden(c, name)
		}
	}
	return ""
}
