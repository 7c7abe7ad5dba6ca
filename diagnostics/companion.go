package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// companions are the names that programs make beside the file which they are about, and
// then rename or remove. What they need, they need of the directory.
var (
	databaseFile = lazyRegexp{text: `^(.+)-(?:journal|wal|shm)$`} // SQLite
	companions   = []*lazyRegexp{
		&databaseFile,
		{text: `^\.(.+)\.sw[a-z]$`}, // vim
		{text: `^(.+)~$`},           // backups
		{text: `^\.#(.+)$`},         // Emacs
		{text: `^\.~lock\.(.+)#$`},  // LibreOffice
		{text: `^(.+)\.lock$`},      // made before, removed behind
		{text: `^\.?(.+?)\.(?:[0-9A-Za-z_-]+\.)?te?mp(?:[.-]?[0-9A-Za-z_-]+)?$`}, // m.json.1234.tmp, m.json.tmp-x
		{text: `^(.+\.[a-z]+)\.(?:\d{3,}|[0-9a-f]{6,})$`},                        // write-file-atomic
		{text: `^\.(.+)\.[0-9A-Za-z]{6}$`},                                       // rsync
		{text: `^()\.?(?:te?mp|sed|goutputstream)[-_]?[0-9A-Za-z_]{4,}$`},        // of no name
	}
	databaseName = lazyRegexp{text: `(?i)\.(?:db3?|sqlite3?|sdb)$`}
)

// companionOf tells a name that is made beside another, and that one where it is known.
func companionOf(path string) (of string, ok bool) {
	name := filepath.Base(path)
	for _, c := range companions {
		if m := c.re().FindStringSubmatch(name); m != nil {
			if m[1] == "" {
				return "", true
			}
			return filepath.Join(filepath.Dir(path), m[1]), true
		}
	}
	return "", false
}

// mentionsSQLite tells lines that speak of SQLite.
func mentionsSQLite(lines []string) bool {
	for _, line := range lines {
		lower := strings.ToLower(line)
		if containsAny(lower, []string{"sqlite", "unable to open database", "readonly database"}) {
			return true
		}
	}
	return false
}

// isSQLiteFile tells a file of SQLite's, which keeps others beside it.
func (a *analyzer) isSQLiteFile(path string) bool {
	name := filepath.Base(path)
	return databaseFile.re().MatchString(name) || a.mentionsSQLite && databaseName.re().MatchString(name)
}

// attributeCompanion is the verdict that path lacks a right to write, where a rule for path
// alone would not help: its directory is what programs need then. ok is false where it
// is a file like another.
func (a *analyzer) attributeCompanion(sure Attribution, path string, missing policy.Rights, cause string) (f finding, ok bool) {
	of, beside := companionOf(path)
	database := a.isSQLiteFile(path)
	dir := filepath.Dir(path)
	if _, git := a.gitDir(path); !beside && !database || git || missing&policy.Write == 0 || missing.Has(policy.Execute) || a.exists(dir) == absent {
		return f, false
	}
	if database || beside && of == "" {
		missing |= policy.Read // mkstemp opens what it makes for reading, too
	}
	f = a.attribute(sure, policy.AxisFs, path, rightWord(missing), cause, grant{})
	if !expressible(dir) || a.isTooWide(dir) {
		why := " is not the server's alone"
		if place := a.programIn(dir); place != "" {
			why = " holds " + a.show(place) + ", a program that the server is made of"
		}
		f.fix = "what is written beside a file needs its directory, and " + a.show(dir) + why + ": have it keep the file in a directory of its own; its documentation names the argument, or the variable to grant"
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

// alignFileRule lets a file be replaced that has a rule of its own in the directory of a
// need: policy.Profile.Distinct keeps it in place unless both say the same.
func (a *analyzer) alignFileRule(n grant, file string) grant {
	const ofFiles = policy.Read | policy.Update | policy.Execute
	e, ok := a.profile.Find(file)
	if file == "" {
		for _, e := range a.profile.Entries {
			if e.Kind == policy.KindFile && e.Origin == policy.OriginRule && filepath.Dir(e.Path) == n.path {
				n.rights |= e.Rights & policy.Read // whichever it is about
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
