package wrapping

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// foundPath is a file or directory among the arguments of an entry.
type foundPath struct {
	word string // as it is in the entry, for a flag
	path string // on this host
	why  string // why it is not granted; "" if it is
}

// pathsIn returns the files and directories that the arguments of an entry name by absolute
// paths, each once. It leaves out a script that is the first argument: mcp-jail itself grants
// that.
func pathsIn(c clients.Client, args []string, host clients.Host) (found []foundPath) {
	for i, arg := range args {
		word := arg
		// --flag=PATH names a path, too.
		if strings.HasPrefix(arg, "-") {
			if _, value, ok := strings.Cut(arg, "="); ok {
				word = value
			}
		}
		if path, ok := replaced(c, word, host); ok && i == 0 && isScript(path) {
			continue
		}
		found = addPath(found, c, word, word, host)
	}
	return found
}

// pathsOfVariables returns the files and directories that the values of granted variables name. A
// whole home directory is not granted for a variable: programs look in it for what they know.
func pathsOfVariables(c clients.Client, s Entry, names []string, host clients.Host) (found []foundPath) {
	given := s.values(c, host)
	for _, v := range s.Env {
		if !v.Unset {
			given[v.Name] = v.Value // as it is in the entry, for a flag
		}
	}
	for _, name := range names {
		value := given[name]
		path, ok := replaced(c, value, host)
		if strings.HasPrefix(value, "~") || policy.IsMinimalVariable(name) || !ok || everyServerReads(filepath.Clean(path)) {
			continue // "~" is not replaced in a variable
		}
		if policy.Within(host.Home, filepath.Clean(path)) {
			found = append(found, foundPath{value, path, "the directory in the variable " + name + " is not granted, because it holds your whole home directory: add --read with what the server needs in it"})
			continue
		}
		found = addPath(found, c, value, "the path in the variable "+name, host)
	}
	return found
}

// everyServerReads reports whether a path belongs to the runtime baseline, so that a rule for it adds
// nothing.
func everyServerReads(path string) bool {
	return slices.ContainsFunc([]string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/dev", "/proc"}, func(dir string) bool {
		return policy.Within(path, dir)
	}) && !policy.Within(path, "/etc/ssl/private")
}

// addPath adds the file or directory that a word names by an absolute path. said names it in a note.
func addPath(found []foundPath, c clients.Client, word, said string, host clients.Host) []foundPath {
	path, ok := replaced(c, defaulted(c, word, host), host)
	if !ok || !filepath.IsAbs(path) {
		return found
	}
	if why := twoWays(path); why != "" {
		return append(found, foundPath{word, path, said + " is not granted, because " + why})
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // what a link grants is its target
	}
	if slices.ContainsFunc(found, func(f foundPath) bool { return f.path == path }) {
		return found
	}
	f := foundPath{word: word, path: path}
	_, err := os.Stat(path)
	secret := sensitive(path, host)
	switch {
	case secret != "" && err == nil:
		f.why = said + " is not granted, because it belongs to " + secret + ", which holds secrets: if the server is to read it, add --read"
	case policy.CheckPath(word) != nil && !strings.HasPrefix(word, "$"):
		return found
	case err != nil && looksLikePath(path):
		f.why = said + " does not exist, and is not granted: add --read or --write with the directory that is to hold it"
	case err != nil:
		return found // "/v1/items" may be no file at all
	}
	return append(found, f)
}

func looksLikePath(path string) bool {
	dir := filepath.Dir(path)
	_, err := os.Stat(dir)
	return err == nil && dir != filepath.Dir(dir)
}

func isScript(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".rb", ".sh", ".jar", ".php", ".pl":
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return false
}

// replacedAll returns the words as replaced returns them. A word that cannot be replaced stays.
func replacedAll(c clients.Client, words []string, host clients.Host) []string {
	all := slices.Clone(words)
	for i, w := range all {
		if text, ok := replaced(c, w, host); ok {
			all[i] = text
		}
	}
	return all
}

// defaulted returns a text in which the defaults of variables replace those that are not set here. The
// client may start with others: only what is granted may rest on it, not what an entry is said to start.
func defaulted(c clients.Client, text string, host clients.Host) string {
	for _, r := range c.References(text) {
		if r.Kind == clients.FromEnv && r.Default != "" && (host.Env == nil || host.Env(r.Name) == "") {
			text = strings.Replace(text, r.Text, r.Default, 1)
		}
	}
	return text
}

// replaced returns a text in which the variables for the project and for the home directory are
// replaced, and a "~" if the client replaces it. ok is false if the text has other variables of
// the client, or if the client replaces variables in the name of the program alone.
func replaced(c clients.Client, text string, host clients.Host) (path string, ok bool) {
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

// replacedValue returns the value of a variable as replaced returns it. A value that cannot be
// replaced, or that begins with "~", stays.
func replacedValue(c clients.Client, value string, host clients.Host) string {
	if text, ok := replaced(c, value, host); ok && !strings.HasPrefix(value, "~") {
		return text
	}
	return value
}

// sensitive returns the sensitive path that a path belongs to, or "". A path that cannot be judged
// counts as one.
func sensitive(name string, host clients.Host) string {
	local, p, err := localPolicy(host)
	if err != nil {
		return "what may be sensitive (" + err.Error() + ")"
	}
	return resolve.Sensitive(&local, p, name)
}

func localPolicy(host clients.Host) (local hostfs.Host, p *policy.Policy, err error) {
	if local, err = hostfs.LocalHost(); err != nil {
		return local, nil, err
	}
	local.Home = host.Home
	local.ConfigDir, local.StateDir, local.CacheDir, local.DataDir = hostfs.StandardDirs(&local)
	if host.Project != "" {
		local.Dir = host.Project
	}
	defaults, err := config.LoadDefaults(config.LoadOptions{User: filepath.Join(local.ConfigDir, "config.toml")})
	if err != nil {
		return local, nil, err
	}
	p, err = config.FromCommandLine(config.CommandLineOptions{Command: []string{"x"}, Defaults: defaults, Dir: local.Dir})
	return local, p, err
}
