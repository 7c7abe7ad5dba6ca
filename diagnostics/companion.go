package diagnostics

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// companions match the names of files that programs create beside another file and then
// rename or remove. Such a program needs rights on the directory. The first group is the
// name of the other file.
var (
	databaseFile = lazy.Regexp(`^(.+)-(?:journal|wal|shm)$`) // SQLite
	companions   = []func() *regexp.Regexp{
		databaseFile,
		lazy.Regexp(`^\.(.+)\.sw[a-z]$`), // vim
		lazy.Regexp(`^(.+)~$`),           // backups
		lazy.Regexp(`^\.#(.+)$`),         // Emacs
		lazy.Regexp(`^\.~lock\.(.+)#$`),  // LibreOffice
		lazy.Regexp(`^(.+)\.lock$`),      // locks
		lazy.Regexp(`^\.?(.+?)\.(?:[0-9A-Za-z_-]+\.)?te?mp(?:[.-]?[0-9A-Za-z_-]+)?$`), // m.json.1234.tmp, m.json.tmp-x
		lazy.Regexp(`^(.+\.[a-z]+)\.(?:\d{3,}|[0-9a-f]{6,})$`),                        // write-file-atomic
		lazy.Regexp(`^\.(.+)\.[0-9A-Za-z]{6}$`),                                       // rsync
		lazy.Regexp(`^()\.?(?:te?mp|sed|goutputstream)[-_]?[0-9A-Za-z_]{4,}$`),        // names that belong to no other file
	}
	databaseName = lazy.Regexp(`(?i)\.(?:db3?|sqlite3?|sdb)$`)
)

// companionOf reports whether path has the name of a companion file, and returns the file
// that it belongs to, or "" where the name does not tell.
func companionOf(path string) (of string, ok bool) {
	name := filepath.Base(path)
	for _, c := range companions {
		if m := c().FindStringSubmatch(name); m != nil {
			if m[1] == "" {
				return "", true
			}
			return filepath.Join(filepath.Dir(path), m[1]), true
		}
	}
	return "", false
}

// mentionsSQLite reports whether a line mentions SQLite.
func mentionsSQLite(lines []string) bool {
	for _, line := range lines {
		lower := strings.ToLower(line)
		if said.ContainsAny(lower, []string{"sqlite", "unable to open database", "readonly database"}) {
			return true
		}
	}
	return false
}

// isSQLiteFile reports whether path is a file of SQLite, which keeps others beside it.
func (a *analyzer) isSQLiteFile(path string) bool {
	name := filepath.Base(path)
	return databaseFile().MatchString(name) || a.mentionsSQLite && databaseName().MatchString(name)
}

// attributeCompanion returns the finding that a right to write path is missing, where a
// rule for path alone would not help because the program needs the directory. ok is false
// for all other files.
func (a *analyzer) attributeCompanion(sure Attribution, path string, missing policy.Rights, cause string) (f finding, ok bool) {
	of, beside := companionOf(path)
	database := a.isSQLiteFile(path)
	dir := filepath.Dir(path)
	if _, git := a.gitDir(path); !beside && !database || git || missing&policy.Write == 0 || missing.Has(policy.Execute) || a.exists(dir) == absent {
		return f, false
	}
	if database || beside && of == "" {
		missing |= policy.Read // mkstemp also opens the new file for reading
	}
	f = a.attribute(sure, policy.AxisFs, path, rightWord(missing), cause, grant{})
	if name := a.protectedOf(path, of); name != "" { // no directory to which the file moves would help
		f.fix = "no line is proposed for it: " + a.writeForbidden(name)
		return f, true
	}
	if why := a.whyShared(dir); why != "" {
		f.fix = "files beside another need a rule for the directory, but " + a.show(dir) + " " + why + ": configure the server to keep the file in a directory of its own (its documentation names the argument, or the variable to grant)"
		return f, true
	}
	f.grant, _ = a.pathGrant(dir, missing, false)
	f.grant.rights |= policy.Write
	if !beside {
		of = path
	}
	f.grant = a.alignFileRule(f.grant, of)
	f.hint.Warning = a.risk(f.grant.path, f.grant.rights)
	return f, true
}

// protectedOf returns the protected name among a file and the one that it belongs to, or "".
func (a *analyzer) protectedOf(path, of string) string {
	names := []string{path}
	if of != "" {
		names = append(names, of, filepath.Join(filepath.Dir(of), "."+filepath.Base(of))) // the dot of .x.tmp may be that of .x
	}
	if i := slices.IndexFunc(names, a.isProtectedName); i >= 0 {
		return names[i]
	}
	return ""
}

// alignFileRule extends a grant for a directory, so that a file in it with a rule of its
// own can be replaced. policy.Profile.MinimalEntries keeps such a file in place unless both
// rules say the same.
func (a *analyzer) alignFileRule(n grant, file string) grant {
	const ofFiles = policy.Read | policy.Update | policy.Execute
	e, ok := a.profile.Find(file)
	if file == "" {
		for _, e := range a.profile.Entries {
			if e.Kind == policy.KindFile && e.Origin == policy.OriginRule && filepath.Dir(e.Path) == n.path {
				n.rights |= e.Rights & policy.Read // any of them may be the file
			}
		}
		return n
	}
	if !ok || e.Path != file || e.Kind != policy.KindFile || e.Origin != policy.OriginRule {
		return n
	}
	n.rights |= e.Rights & (policy.Read | policy.Execute)
	if e.Rights&ofFiles != n.rights&ofFiles {
		n.with = file
	}
	return n
}
