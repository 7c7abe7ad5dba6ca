package learn

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// secretNames are the names that files with keys and passwords usually have, in lower case.
var secretNames = []string{
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
	"credentials.json", "client_secret*.json", "service-account*.json", "serviceaccount*.json", "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml",
	"*.tfstate", "*.tfvars", "kubeconfig", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".htpasswd", ".envrc",
}

// SecretName reports whether a file with keys or passwords usually has the name.
func SecretName(name string) bool { return secretPattern(name) != "" }

// secretPattern returns a pattern for such names that the name matches, or "".
func secretPattern(name string) string {
	for _, pattern := range secretNames {
		if ok, _ := path.Match(pattern, strings.ToLower(name)); !ok { // the patterns are constants
			continue
		}
		switch {
		case strings.HasPrefix(pattern, "*."):
			return "*" + path.Ext(name) // as the name has it, in upper or lower case
		case strings.Contains(pattern, "*"):
			return pattern
		}
		return name
	}
	return ""
}

// hide finds the files with such names in the directories that are granted. The table hides them, so the rule for
// their neighbours does not make them readable. A file that the server used has a rule of its own. A name that it
// has made or removed is not hidden.
func (l *learner) hide(moved map[string]bool) {
	own := ownSecrets(moved)
	for i := range l.places {
		p := &l.places[i]
		if !p.dir || !p.rights.Has(policy.Read) {
			continue
		}
		files, whole := l.Facts.Secrets(p.path)
		names := map[string][]string{} // what hides the files that have a pattern
		for _, file := range files {
			pattern := secretPattern(path.Base(file))
			if pattern != "" && !moved[file] {
				names[pattern] = append(names[pattern], l.hiding(file, pattern, own))
			}
		}
		if !whole {
			for _, pattern := range secretNames {
				names[pattern] = append(names[pattern], everywhere+pattern)
			}
		}
		for pattern, all := range names {
			slices.Sort(all)
			if all = slices.Compact(all); len(all) > maxHidden || slices.Contains(all, everywhere+pattern) {
				all = []string{everywhere + pattern}
			}
			p.hides = append(p.hides, all...)
		}
	}
}

const (
	everywhere = "**/" // begins a pattern that holds in each directory
	maxHidden  = 20    // sensitive paths in place of one that holds everywhere
)

// ownSecrets returns the directories in which the server has made or removed files with such names, by the pattern.
func ownSecrets(moved map[string]bool) map[string][]string {
	own := map[string][]string{}
	for file := range moved {
		if pattern := secretPattern(path.Base(file)); pattern != "" {
			own[pattern] = append(own[pattern], path.Dir(file))
		}
	}
	return own
}

// hiding returns the sensitive path that hides a file. One that holds everywhere would hide what the server makes,
// too: in its place the others hide the files of a directory, and in one of the server's own the file alone.
func (l *learner) hiding(file, pattern string, own map[string][]string) string {
	dirs, dir := own[pattern], path.Dir(file)
	if len(dirs) == 0 {
		return everywhere + pattern
	}
	last := pattern
	if slices.Contains(dirs, dir) {
		if last = path.Base(file); strings.ContainsAny(last, `*?[\`) {
			return everywhere + pattern
		}
	}
	if one := path.Join(l.written(dir), last); policy.CheckSensitivePath(one) == nil {
		return one
	}
	return everywhere + pattern
}

// hidden returns the sensitive paths of the table.
func (t Table) hidden() (patterns []string) {
	for _, p := range t.places {
		if slices.ContainsFunc(t.Rules, func(r Rule) bool { return r.Fs != nil && r.Fs.Path == p.written }) {
			patterns = append(patterns, p.hides...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}
