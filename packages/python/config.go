package python

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Config is where packages come from.
type Config struct {
	Index      string   // the address of the index, with its credentials
	Extra      []string // of further indexes
	FindLinks  []string // directories and pages with files
	NoIndex    bool     // only FindLinks count
	Cert       string   // a file with certificates; "" for the usual ones
	ClientCert string
	Trusted    []string // hosts whose certificates are not checked
	Pre        bool     // prereleases are installed
	Proxy      string
}

// DefaultIndex is the index if the configuration names none.
const DefaultIndex = "https://pypi.org/simple"

// fileHosts returns the addresses of the hosts, beside its own, from which an index is known to
// serve files.
func fileHosts(index string) []string {
	u, err := url.Parse(index)
	if err != nil {
		return nil
	}
	switch u.Hostname() {
	case "pypi.org":
		return []string{"https://files.pythonhosted.org"}
	case "test.pypi.org":
		return []string{"https://test-files.pythonhosted.org"}
	}
	return nil
}

// uvFile has the settings of a uv.toml that count.
type uvFile struct {
	uvIndexes
	Pip  uvIndexes `toml:"pip"`
	Pre  string    `toml:"prerelease"`
	Host []string  `toml:"allow-insecure-host"`
}

type uvIndexes struct {
	Index []struct {
		Name     string
		URL      string
		Default  bool
		Explicit bool
	} `toml:"index"`
	IndexURL  string   `toml:"index-url"`
	Extra     []string `toml:"extra-index-url"`
	FindLinks []string `toml:"find-links"`
	NoIndex   bool     `toml:"no-index"`
}

// UvConfig returns what the user's configuration of uv says: the files uv.toml, the user's
// before the system's, and the variables. configured reports whether they name an index or a place
// with files, or say that no index is used.
func UvConfig(files [][]byte, getenv func(string) string) (c Config, configured bool, err error) {
	for _, text := range files {
		var f uvFile
		if err := toml.Unmarshal(text, &f); err != nil {
			return c, false, fmt.Errorf("uv.toml: %w", err)
		}
		c.addUv(f.uvIndexes, getenv)
		c.addUv(f.Pip, getenv)
		c.Trusted = append(c.Trusted, f.Host...)
		c.Pre = c.Pre || f.Pre == "allow"
	}
	for _, name := range []string{"UV_INDEX_URL", "UV_DEFAULT_INDEX"} { // the newer name wins
		if v := getenv(name); v != "" {
			c.Index = indexURL(v, getenv)
		}
	}
	var extra []string
	for _, v := range strings.Fields(getenv("UV_INDEX") + " " + getenv("UV_EXTRA_INDEX_URL")) {
		extra = append(extra, indexURL(v, getenv))
	}
	c.Extra = append(extra, c.Extra...)
	c.FindLinks = append(strings.FieldsFunc(getenv("UV_FIND_LINKS"), func(r rune) bool { return r == ',' || r == ' ' }), c.FindLinks...)
	c.Trusted = append(c.Trusted, strings.Fields(getenv("UV_INSECURE_HOST"))...)
	c.NoIndex = c.NoIndex || isTrue(getenv("UV_NO_INDEX"))
	c.Pre = c.Pre || getenv("UV_PRERELEASE") == "allow"
	c.Cert = getenv("SSL_CERT_FILE")
	return c, c.Index != "" || len(c.Extra) > 0 || len(c.FindLinks) > 0 || c.NoIndex, nil
}

// addUv adds the indexes of a file. What is there already counts before them.
func (c *Config) addUv(f uvIndexes, getenv func(string) string) {
	index := f.IndexURL
	for _, i := range f.Index {
		address := withCredentials(i.URL, i.Name, getenv)
		switch {
		case i.Explicit: // it is asked only for packages that name it
		case i.Default:
			index = address
		default:
			c.Extra = append(c.Extra, address)
		}
	}
	if c.Index == "" {
		c.Index = index
	}
	c.Extra = append(c.Extra, f.Extra...)
	c.FindLinks = append(c.FindLinks, f.FindLinks...)
	c.NoIndex = c.NoIndex || f.NoIndex
}

func indexURL(text string, getenv func(string) string) string {
	if name, address, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(name, ":/") {
		return withCredentials(address, name, getenv)
	}
	return text
}

func withCredentials(address, name string, getenv func(string) string) string {
	key := "UV_INDEX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	user, password := getenv(key+"_USERNAME"), getenv(key+"_PASSWORD")
	u, err := url.Parse(address)
	if name == "" || user == "" && password == "" || err != nil {
		return address
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// Addresses returns the addresses from which a configuration has packages fetched, one for each
// host, with those of fileHosts. Files are left out.
func (c Config) Addresses() (out []*url.URL, err error) {
	names := slices.Clone(c.Extra)
	if !c.NoIndex {
		names = append(names, c.Index)
		for _, index := range append(slices.Clone(c.Extra), c.Index) {
			names = append(names, fileHosts(index)...)
		}
	} else {
		names = nil
	}
	for _, l := range c.FindLinks {
		if strings.Contains(l, "://") && !strings.HasPrefix(l, "file:") {
			names = append(names, l)
		}
	}
	for _, name := range names {
		u, err := url.Parse(name)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("the address of a Python index is not one: it begins neither with https:// nor with http://, or has no host. Correct it in the configuration of pip (pip config list) or uv (uv.toml)")
		}
		if !slices.ContainsFunc(out, func(o *url.URL) bool { return o.Scheme == u.Scheme && o.Host == u.Host }) {
			out = append(out, u)
		}
	}
	return out, nil
}

// Secrets returns the passwords in the addresses of a configuration.
func (c Config) Secrets() (out []policy.Variable) {
	for _, address := range append(append([]string{c.Index, c.Proxy}, c.Extra...), c.FindLinks...) {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok && password != "" {
				out = append(out, policy.Variable{Name: "the password of a Python index", Value: password, Secret: true})
			}
		}
	}
	return out
}
