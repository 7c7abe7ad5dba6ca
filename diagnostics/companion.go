package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// companions are the names that programs make beside the file which they are about, and
// then rename or remove. What they need, they need of the directory.
var (
	databaseFile = lazy{text: `^(.+)-(?:journal|wal|shm)$`} // SQLite
	companions   = []*lazy{
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
	databaseName = lazy{text: `(?i)\.(?:db3?|sqlite3?|sdb)$`}
)

// companion tells a name that is made beside another, and that one where it is known.
func companion(path string) (of string, ok bool) {
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

// saysDatabase tells lines that speak of SQLite.
func saysDatabase(lines []string) bool {
	for _, line := range lines {
		lower := strings.ToLower(line)
		if containsAny(lower, []string{"sqlite", "unable to open database", "readonly database"}) {
			return true
		}
	}
	return false
}

// ofDatabase tells a file of SQLite's, which keeps others beside it.
func (j *judge) ofDatabase(path string) bool {
	name := filepath.Base(path)
	return databaseFile.re().MatchString(name) || j.database && databaseName.re().MatchString(name)
}

// blameBeside is the verdict that path lacks a right to write, where a rule for path
// alone would not help: its directory is what programs need then. ok is false where it
// is a file like another.
func (j *judge) blameBeside(a Attribution, path string, missing policy.Rights, cause string) (v verdict, ok bool) {
	of, beside := companion(path)
	database := j.ofDatabase(path)
	dir := filepath.Dir(path)
	if _, git := j.gitDir(path); !beside && !database || git || missing&policy.Write == 0 || missing.Has(policy.Execute) || j.exists(dir) == absent {
		return v, false
	}
	if database || beside && of == "" {
		missing |= policy.Read // mkstemp opens what it makes for reading, too
	}
	v = j.blame(a, policy.AxisFs, path, word(missing), cause, need{})
	if !expressible(dir) || j.tooWide(dir) {
		why := " is not the server's alone"
		if place := j.held(dir); place != "" {
			why = " holds " + j.show(place) + ", a program that the server is made of"
		}
		v.fix = "what is written beside a file needs its directory, and " + j.show(dir) + why + ": have it keep the file in a directory of its own; its documentation names the argument, or the variable to grant"
		return v, true
	}
	v.need, _ = j.pathNeed(dir, missing, false)
	v.need.rights |= policy.Write
	if !beside {
		of = path
	}
	v.need = j.besideRuled(v.need, of)
	v.hint.Warning = j.risk(v.need.path, v.need.rights)
	return v, true
}

// besideRuled lets a file be replaced that has a rule of its own in the directory of a
// need: policy.Profile.Distinct keeps it in place unless both say the same.
func (j *judge) besideRuled(n need, file string) need {
	const ofFiles = policy.Read | policy.Update | policy.Execute
	e, ok := j.profile.Find(file)
	if file == "" {
		for _, e := range j.profile.Entries {
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
