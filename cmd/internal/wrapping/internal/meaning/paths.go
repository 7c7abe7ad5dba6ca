package meaning

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Path is a file or directory among the arguments of an entry.
type Path struct {
	Word string // as it is in the entry, for a flag
	Path string // on this host
	Why  string // why it is not granted; "" if it is
}

// PathsIn returns the files and directories that the arguments of an entry name by absolute
// paths, each once. It leaves out a script that is the first argument: mcp-jail itself grants
// that.
func PathsIn(c clients.Client, args []string, host clients.Host) (found []Path) {
	for i, arg := range args {
		word := arg
		// --flag=PATH names a path, too.
		if strings.HasPrefix(arg, "-") {
			if _, value, ok := strings.Cut(arg, "="); ok {
				word = value
			}
		}
		if path, ok := Replaced(c, word, host); ok && i == 0 && IsScript(path) {
			continue
		}
		found = addPath(found, c, word, word, host)
	}
	return found
}

// PathsOfVariables returns the files and directories that the values of granted variables name. A
// whole home directory is not granted for a variable: programs look in it for what they know.
// values has the variables as the server gets them, and env those that the entry sets.
func PathsOfVariables(c clients.Client, values map[string]string, env []clients.Variable, names []string, host clients.Host) (found []Path) {
	given := maps.Clone(values)
	for _, v := range env {
		if !v.Unset {
			given[v.Name] = v.Value // as it is in the entry, for a flag
		}
	}
	for _, name := range names {
		value := given[name]
		path, ok := Replaced(c, value, host)
		if strings.HasPrefix(value, "~") || policy.IsMinimalVariable(name) || !ok || host.OS != "windows" && everyServerReads(filepath.Clean(path)) {
			continue // "~" is not replaced in a variable
		}
		if hostfs.Within(host.OS, host.Home, filepath.Clean(path)) {
			found = append(found, Path{value, path, "the directory in the variable " + name + " is not granted, because it holds your whole home directory: add --read with what the server needs in it"})
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
func addPath(found []Path, c clients.Client, word, said string, host clients.Host) []Path {
	path, ok := Replaced(c, Defaulted(c, word, host), host)
	if why := otherForm(path, host); ok && why != "" {
		return append(found, Path{word, path, said + " is not granted: " + why})
	}
	if !ok || !filepath.IsAbs(path) {
		return found
	}
	if why := TwoWays(path); why != "" {
		return append(found, Path{word, path, said + " is not granted, because " + why})
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // what a link grants is its target
	}
	if slices.ContainsFunc(found, func(f Path) bool { return f.Path == path }) {
		return found
	}
	f := Path{Word: word, Path: path}
	_, err := os.Stat(path)
	secret := Sensitive(path, host)
	switch {
	case secret != "" && err == nil:
		f.Why = said + " is not granted, because it belongs to " + secret + ", which holds secrets: if the server is to read it, add --read"
	case policy.CheckPath(word) != nil && !strings.HasPrefix(word, "$"):
		return found
	case err != nil && looksLikePath(path):
		f.Why = said + " does not exist, and is not granted: add --read or --write with the directory that is to hold it"
	case err != nil:
		return found // "/v1/items" may be no file at all
	}
	return append(found, f)
}

// otherForm returns why no rule can have a path as it is written, if this is Windows, or "".
func otherForm(path string, host clients.Host) string {
	whole := strings.ReplaceAll(path, "/", `\`)
	if host.OS != "windows" || host.Mounted || !winpath.HasDrive(whole) && !strings.HasPrefix(whole, `\\`) {
		return ""
	}
	if _, err := winpath.Clean(path); err != nil {
		return err.Error()
	}
	return ""
}

func looksLikePath(path string) bool {
	dir := filepath.Dir(path)
	_, err := os.Stat(dir)
	return err == nil && dir != filepath.Dir(dir)
}

// IsScript reports whether a path is a file that an interpreter runs, by its ending.
func IsScript(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".rb", ".sh", ".jar", ".php", ".pl":
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return false
}

// Sensitive returns the sensitive path that a path belongs to, or "". A path that cannot be judged
// counts as one.
func Sensitive(name string, host clients.Host) string {
	local, p, err := LocalPolicy(host)
	if err != nil {
		return "what may be Sensitive (" + err.Error() + ")"
	}
	return resolve.Sensitive(&local, p, name)
}

// LocalPolicy returns this host as the client sees it, and the default policy on it.
func LocalPolicy(host clients.Host) (local hostfs.Host, p *policy.Policy, err error) {
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

// TwoWays returns why a path can be read in two ways, or "".
func TwoWays(path string) string {
	if link := hostfs.UpFromLink(path); link != "" {
		return "it can be read in two ways: " + link + " is a symbolic link, and .. comes after it"
	}
	return ""
}
