package install

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// npmConfig is what the user's configuration of npm says about registries.
type npmConfig struct {
	settings     map[string]string // for the npm in the jail: registry, @scope:registry, cafile, ...
	cache        string            // the user's own cache; "" if there is none
	registry     []*url.URL        // each registry once
	credentials  map[string]string // //host/path/:_authToken and its relatives; secret
	certificates map[string]string // variables of node that name authorities
	files        []string          // that npm or node reads because of a setting or a variable
	proxy        map[string]string // variables of the proxy: HTTPS_PROXY, ...
}

// forwarded are the settings of the user that the npm of an installation needs as well.
var forwarded = []string{"registry", "cafile", "ca", "strict-ssl", "min-release-age", "before", "replace-registry-host", "maxsockets"}

func (i *Installer) npmConfigOf(npm *npmProgram) (*npmConfig, error) {
	host := &i.Host
	all, err := npm.readConfig(i)
	if err != nil {
		return nil, err
	}
	c := &npmConfig{settings: map[string]string{"registry": defaultRegistry}, credentials: map[string]string{}, certificates: map[string]string{}, proxy: map[string]string{}}
	for _, name := range all.Names() {
		if slices.Contains(forwarded, name) || strings.HasPrefix(name, "@") && strings.HasSuffix(name, ":registry") {
			if v := all.Get(name); v != "" {
				c.settings[name] = v
			}
		}
	}
	if file := all.Path("cafile", host.Home, host.Home); file != "" {
		c.settings["cafile"] = file
	}
	if err := c.addRegistries(); err != nil {
		return nil, err
	}
	cache := cmp.Or(all.Path("cache", host.Home, host.Home), filepath.Join(host.Home, ".npm"))
	if info, err := os.Stat(filepath.Join(cache, "_cacache")); err == nil && info.IsDir() {
		c.cache = filepath.Join(cache, "_cacache")
	}
	// The strongest source comes last here, and replaces what a weaker one says.
	for _, source := range slices.Backward(all) {
		for _, s := range source {
			c.addCredential(s.Name, s.Value)
		}
	}
	c.addFiles(host)
	for name, setting := range map[string]string{"HTTP_PROXY": "proxy", "HTTPS_PROXY": "https-proxy", "NO_PROXY": "noproxy"} {
		if v := all.Get(setting); v != "" && v != "false" {
			// npm keeps the elements of a list with empty lines between them.
			c.proxy[name] = strings.ReplaceAll(v, "\n\n", ",")
		}
	}
	return c, nil
}

func (c *npmConfig) addRegistries() error {
	c.registry = nil
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		value := c.settings[name]
		if name != "registry" && !strings.HasSuffix(name, ":registry") {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("npm's setting %s is not the address of a registry: correct it with npm config set %s URL", name, name)
		}
		if !slices.ContainsFunc(c.registry, func(r *url.URL) bool { return r.Host == u.Host && r.Scheme == u.Scheme }) {
			c.registry = append(c.registry, u)
		}
	}
	slices.SortFunc(c.registry, func(a, b *url.URL) int { return strings.Compare(a.String(), b.String()) })
	return nil
}

// useProxy makes the proxy of npm's configuration that of this process, whose egress connects
// to the registries for the jail. A variable that is set already wins.
func (c *npmConfig) useProxy() error {
	for name, value := range c.proxy {
		if os.Getenv(name) != "" || os.Getenv(strings.ToLower(name)) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *npmConfig) redactor() *diagnostics.Redactor {
	var secret []policy.Variable
	add := func(name, value string) {
		if value != "" {
			secret = append(secret, policy.Variable{Name: name, Value: value, Secret: true})
		}
	}
	for name, value := range c.credentials {
		if !strings.HasSuffix(name, ":username") && !strings.HasSuffix(name, ":email") && !strings.HasSuffix(name, "file") {
			add("npm's "+name, value)
		}
	}
	for name, value := range c.settings {
		if u, err := url.Parse(value); err == nil && u.User != nil {
			password, _ := u.User.Password()
			add("npm's password of "+name, password)
		}
	}
	return diagnostics.NewRedactor(secret)
}

// credentialNames are the settings that belong to one registry and that npm needs to log in there.
var credentialNames = []string{"_authToken", "_auth", "username", "_password", "email", "certfile", "keyfile"}

func (c *npmConfig) addCredential(name, value string) {
	at := strings.LastIndex(name, "/:")
	if at < 0 || !strings.HasPrefix(name, "//") || !slices.Contains(credentialNames, name[at+2:]) {
		return
	}
	host, _, _ := strings.Cut(name[2:], "/")
	if !slices.ContainsFunc(c.registry, func(r *url.URL) bool { return sameHost(r, host) }) {
		return
	}
	c.credentials[name] = value
	if strings.HasSuffix(name, "file") && filepath.IsAbs(value) {
		c.files = append(c.files, value)
	}
}

// sameHost reports whether host, which may have a port, is the host of a registry. The usual port
// of the registry's scheme may be left out on both sides.
func sameHost(r *url.URL, host string) bool {
	usual := map[string]string{"http": ":80", "https": ":443"}[r.Scheme]
	return strings.EqualFold(strings.TrimSuffix(r.Host, usual), strings.TrimSuffix(host, usual))
}

// addFiles adds the files of authorities that variables or the setting cafile name. It then drops
// the files that do not exist.
func (c *npmConfig) addFiles(host *hostfs.Host) {
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"} {
		if file, _ := host.Getenv(name); filepath.IsAbs(file) {
			c.certificates[name] = file
			c.files = append(c.files, file)
		}
	}
	if file := c.settings["cafile"]; filepath.IsAbs(file) {
		c.files = append(c.files, file)
	}
	c.files = slices.DeleteFunc(c.files, func(file string) bool { _, err := os.Stat(file); return err != nil })
}
