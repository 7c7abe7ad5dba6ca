package install

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// npmConfig is what the user's configuration of npm says about registries.
type npmConfig struct {
	npm       string            // path of npm
	settings  map[string]string // for the npm in the jail: registry, @scope:registry, cafile, ...
	cache     string            // the user's own cache; "" if there is none
	registry  []*url.URL        // each registry once
	authLines map[string]string // //host/path/:_authToken and its relatives; secret
}

// forwarded are the settings of the user that the npm of an installation needs as well.
var forwarded = []string{"registry", "cafile", "ca", "strict-ssl", "proxy", "https-proxy", "noproxy", "min-release-age", "before"}

// readNpmConfig asks npm for its configuration. It runs npm in the user's home directory, so
// that no .npmrc of a project has a part in it.
func readNpmConfig(ctx context.Context, npm, home string) (*npmConfig, error) {
	cmd := exec.CommandContext(ctx, npm, "config", "list", "--json", "--long")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "npm_config_update_notifier=false", "npm_config_loglevel=silent")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("npm does not tell its configuration (npm config list --json): %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("npm's configuration (npm config list --json) is not JSON: %w", err)
	}
	c := &npmConfig{npm: npm, settings: map[string]string{}, authLines: map[string]string{}}
	text := func(name string) string { return settingText(all[name]) }
	for name := range all {
		if slices.Contains(forwarded, name) || strings.HasPrefix(name, "@") && strings.HasSuffix(name, ":registry") {
			if v := text(name); v != "" {
				c.settings[name] = v
			}
		}
	}
	if err := c.addRegistries(); err != nil {
		return nil, err
	}
	if cache := filepath.Join(text("cache"), "_cacache"); filepath.IsAbs(cache) {
		if info, err := os.Stat(cache); err == nil && info.IsDir() {
			c.cache = cache
		}
	}
	for _, name := range []string{"globalconfig", "userconfig"} {
		if err := c.addCredentials(text(name)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// settingText returns a setting as a variable holds it, or "" if it is not set.
func settingText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// addRegistries collects the addresses that settings name.
func (c *npmConfig) addRegistries() error {
	for name, value := range c.settings {
		if name != "registry" && !strings.HasSuffix(name, ":registry") {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("npm's setting %s is %q, which is not the address of a registry: correct it with npm config set %s URL", name, value, name)
		}
		if !slices.ContainsFunc(c.registry, func(r *url.URL) bool { return r.Host == u.Host && r.Scheme == u.Scheme }) {
			c.registry = append(c.registry, u)
		}
	}
	slices.SortFunc(c.registry, func(a, b *url.URL) int { return strings.Compare(a.String(), b.String()) })
	if c.registry == nil {
		return errors.New("npm's configuration names no registry")
	}
	return nil
}

// credentials are the names of settings that belong to one registry and that npm needs to
// log in there.
var credentials = []string{"_authToken", "_auth", "username", "_password", "email", "certfile", "keyfile"}

// addCredentials reads the credentials of the registries from a file in npm's format. npm
// itself does not print them.
func (c *npmConfig) addCredentials(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // most users have no such file, and npm ignores one that it cannot read
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
		at := strings.LastIndex(name, "/:")
		if !ok || at < 0 || !strings.HasPrefix(name, "//") || !slices.Contains(credentials, name[at+2:]) {
			continue
		}
		host, _, _ := strings.Cut(name[2:], "/")
		if !slices.ContainsFunc(c.registry, func(r *url.URL) bool { return r.Host == host }) {
			continue
		}
		c.authLines[name] = os.Expand(value, os.Getenv)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// dependencies returns the dependencies of a package.json, in the order of the file.
func dependencies(file string) (names []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Dependencies json.RawMessage `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.Dependencies == nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(manifest.Dependencies))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprint(name))
	}
	return names, nil
}
