package analysis

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func inUserHome(c *Case, path string) bool {
	return c.Evidence.UserHome != "" && c.Evidence.UserHome != "/" && policy.Within(path, c.Evidence.UserHome)
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
func attributeCompanion(c *Case, sure diagnostics.Attribution, path string, missing policy.Rights, cause string) (f Finding, ok bool) {
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
	if name := protectedBeside(c, path, owner); name != "" { // no directory to which the file moves would help
		f.Object = change.Path(name, missing)
		return f, true
	}
	if why := whyShared(c, dir); why != "" {
		f.Fix = "mcp-jail allows no writing in that folder: it " + why + ". Have the server keep its file in another: its documentation names the argument, or the variable to grant"
		return f, true
	}
	f.Object, _ = pathGrant(c, dir, missing, false)
	f.Object = f.Object.Plus(policy.Write)
	return f, true
}

// protectedBeside returns the name of a companion, or of the file that it belongs to, at which no server may write, or "".
func protectedBeside(c *Case, path, owner string) string {
	names := []string{path}
	if owner != "" {
		names = append(names, owner, filepath.Join(filepath.Dir(owner), "."+filepath.Base(owner))) // the dot of .x.tmp may be that of .x
	}
	isOwn := func(r policy.Reason) bool { return r.Kind == policy.WhyOwnProgram } // the file can be kept elsewhere
	for _, name := range names {
		p := c.Decide(change.Want{Source: change.Recorded, Object: change.Path(name, policy.Write)})
		if p.Verdict() == change.Never && !slices.ContainsFunc(p.Reasons, isOwn) {
			return name
		}
	}
	return ""
}
