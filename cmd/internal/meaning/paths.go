package meaning

import (
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A Word is a word of an entry that can name something: an argument, or the value of a variable.
type Word struct {
	Text     string
	Variable string // its name; "" for an argument
}

// Named is what a word names.
type Named struct {
	Word
	Path string // a file or directory of this host
	Host string // a host of this machine, with Port
	Port int
	Said string // what people call it
	Why  string // why no rule is made of it, or ""
}

// Names returns what some words name, each thing once: files and directories by absolute paths, and hosts of this
// machine by URLs with a port. A word may be a list of those, as in "a,b" or "a:b". Nothing else is granted for the words
// of an entry, but for what a preset knows of a word.
func Names(c clients.Client, words []Word, host clients.Host) (found []Named) {
	for _, w := range words {
		text, ok := Replaced(c, Defaulted(c, w.Text, host), host)
		if w.Variable != "" && strings.HasPrefix(w.Text, "~") {
			continue // no client replaces it there
		}
		if _, value, is := strings.Cut(text, "="); is && w.Variable == "" && strings.HasPrefix(text, "-") {
			text = value
		}
		if !ok {
			continue
		}
		items := []string{text}
		if _, err := os.Stat(text); err != nil {
			items = policy.ListItems(host.OS, text)
		}
		for _, item := range items {
			n := Named{Word: w, Said: item}
			switch {
			case w.Variable != "" && len(items) > 1:
				n.Said = item + " in the variable " + w.Variable
			case w.Variable != "":
				n.Said = "the path in the variable " + w.Variable
			}
			if n.Host, n.Port = loopback(item); n.Host == "" {
				n.locate(item, host)
			}
			isSame := func(o Named) bool { return o.Path == n.Path && o.Host == n.Host && o.Port == n.Port }
			if n.Path+n.Host != "" && !slices.ContainsFunc(found, isSame) {
				found = append(found, n)
			}
		}
	}
	return found
}

// locate finds the file or directory that a text names by an absolute path. Without one, Path stays "".
func (n *Named) locate(path string, host clients.Host) {
	if why := otherForm(path, host); why != "" {
		n.Path, n.Why = path, n.Said+" is not granted: "+why
		return
	}
	if !filepath.IsAbs(path) || host.OS != "windows" && everyServerReads(filepath.Clean(path)) {
		return
	}
	if why := TwoWays(path); why != "" {
		n.Path, n.Why = path, n.Said+" is not granted, because "+why
		return
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // what a link grants is its target
	}
	_, err := os.Stat(path)
	switch {
	case n.Variable != "" && hostfs.Within(host.OS, host.Home, path): // programs look in it for what they know
		n.Why = "the directory in the variable " + n.Variable + " is not granted, because it holds your whole home directory: add --read with what the server needs in it"
	case policy.CheckPath(path) != nil, err != nil && !looksLikePath(path):
		return // "/v1/items" may be no file at all
	case err != nil:
		n.Why = n.Said + " does not exist, and is not granted: add --read or --write with the directory that is to hold it"
	}
	n.Path = path
}

// everyServerReads reports whether a path belongs to the runtime baseline, so that a rule for it adds
// nothing.
func everyServerReads(path string) bool {
	return slices.ContainsFunc([]string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/dev", "/proc"}, func(dir string) bool {
		return policy.Within(path, dir)
	}) && !policy.Within(path, "/etc/ssl/private")
}

// loopback returns the host and the port of a URL of this machine, or "".
func loopback(text string) (host string, port int) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", 0
	}
	host = strings.ToLower(u.Hostname())
	if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return "", 0
	}
	if port, err = strconv.Atoi(u.Port()); err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	if port < 1 || port > 65535 {
		return "", 0
	}
	return host, port
}

// otherForm returns why no rule can have a path as it is written, if this is Windows, or "".
func otherForm(path string, host clients.Host) string {
	whole := strings.ReplaceAll(path, "/", `\`)
	if host.OS != "windows" || host.Mounted || !hostfs.HasDrive(whole) && !strings.HasPrefix(whole, `\\`) {
		return ""
	}
	if _, err := hostfs.CleanWindows(path); err != nil {
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
