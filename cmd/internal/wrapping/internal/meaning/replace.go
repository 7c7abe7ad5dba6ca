package meaning

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
)

// ReplacedAll returns the words as [Replaced] returns them. A word that cannot be replaced stays.
func ReplacedAll(c clients.Client, words []string, host clients.Host) []string {
	all := slices.Clone(words)
	for i, w := range all {
		if text, ok := Replaced(c, w, host); ok {
			all[i] = text
		}
	}
	return all
}

// Defaulted returns a text in which the defaults of variables replace those that are not set here. The
// client may start with others: only what is granted may rest on it, not what an entry is said to start.
func Defaulted(c clients.Client, text string, host clients.Host) string {
	for _, r := range c.References(text) {
		if r.Kind == clients.FromEnv && r.Default != "" && (host.Env == nil || host.Env(r.Name) == "") {
			text = strings.Replace(text, r.Text, r.Default, 1)
		}
	}
	return text
}

// Replaced returns a text in which the variables for the project and for the home directory are
// replaced, and a "~" if the client replaces it. ok is false if the text has other variables of
// the client, or if the client replaces variables in the name of the program alone.
func Replaced(c clients.Client, text string, host clients.Host) (path string, ok bool) {
	for _, r := range c.References(text) {
		value := ""
		switch {
		case r.Kind == clients.Workspace && host.Project != "" && (r.Name == "" || r.Name == filepath.Base(host.Project)):
			value = host.Project
		case r.Kind == clients.Home:
			value = host.Home
		case r.Kind == clients.FromEnv && r.Name == "HOME":
			value = host.Home
		case r.Kind == clients.FromEnv:
			value = c.Known[r.Name]
		}
		if value == "" || c.OnlyCmd {
			return "", false
		}
		text = strings.Replace(text, r.Text, value, 1)
	}
	if rest, is := strings.CutPrefix(text, "~/"); is && c.Tilde {
		text = filepath.Join(host.Home, rest)
	}
	return text, true
}

// ReplacedValue returns the value of a variable as [Replaced] returns it. A value that cannot be
// replaced, or that begins with "~", stays.
func ReplacedValue(c clients.Client, value string, host clients.Host) string {
	if text, ok := Replaced(c, value, host); ok && !strings.HasPrefix(value, "~") {
		return text
	}
	return value
}
