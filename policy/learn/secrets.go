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
	for i := range l.places {
		p := &l.places[i]
		if !p.dir || !p.rights.Has(policy.Read) {
			continue
		}
		own := map[string]bool{}
		for name := range moved {
			own[secretPattern(path.Base(name))] = true
		}
		names, whole := l.Facts.Secrets(p.path)
		patterns := []string{}
		for _, name := range names {
			patterns = append(patterns, secretPattern(name))
		}
		if !whole {
			patterns = append(patterns, secretNames...)
		}
		for _, pattern := range patterns {
			if pattern != "" && !own[pattern] {
				p.hides = append(p.hides, "**/"+pattern)
			}
		}
	}
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
