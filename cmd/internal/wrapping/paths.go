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
		path, ok := replaced(c, word, host)
		if !ok || !filepath.IsAbs(path) || i == 0 && isScript(path) {
			continue
		}
		if why := twoWays(path); why != "" {
			found = append(found, foundPath{word, path, word + " is not granted, because " + why})
			continue
		}
		path = filepath.Clean(path)
		if slices.ContainsFunc(found, func(f foundPath) bool { return f.path == path }) {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real // what a link grants is its target
		}
		f := foundPath{word: word, path: path}
		_, err := os.Stat(path)
		secret := sensitive(path, host)
		switch {
		case secret != "" && err == nil:
			f.why = word + " is not granted, because it belongs to " + secret + ", which holds secrets: if the server is to read it, add --read"
		case policy.CheckPath(word) != nil && !strings.HasPrefix(word, "$"):
			continue
		case err != nil && looksLikePath(path):
			f.why = word + " does not exist, and is not granted: add --read or --write with the directory that is to hold it"
		case err != nil:
			continue // "/v1/items" may be no file at all
		}
		found = append(found, f)
	}
	return found
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
