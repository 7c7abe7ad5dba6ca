package install

import (
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
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/npm"
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

const (
	configWait = 30 * time.Second // for `npm config list`
	maxConfig  = 4 << 20          // bytes of its output
)

// readNpmConfig asks npm for its configuration. It runs npm in the user's home directory, so that
// npm reads no .npmrc of a project.
func readNpmConfig(ctx context.Context, npm string, host *hostfs.Host, path []string) (*npmConfig, error) {
	out, err := askNPM(ctx, npm, host, path)
	if err != nil {
		return nil, fmt.Errorf("%s does not tell its configuration (npm config list --json): %w", npm, err)
	}
	var all map[string]any
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("the configuration of %s (npm config list --json) is not JSON: %w", npm, err)
	}
	text := func(name string) string { return settingText(all[name]) }
	if err := newEnough(npm, text); err != nil {
		return nil, err
	}
	c := &npmConfig{settings: map[string]string{}, credentials: map[string]string{}, certificates: map[string]string{}, proxy: map[string]string{}}
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
		c.addCredentials(text(name), host)
	}
	c.addVariables(host)
	for name, setting := range map[string]string{"HTTP_PROXY": "proxy", "HTTPS_PROXY": "https-proxy", "NO_PROXY": "noproxy"} {
		if v := text(setting); v != "" && v != "false" {
			c.proxy[name] = v
		}
	}
	return c, nil
}

// askNPM runs `npm config list`, outside of any jail, with the variables that package environ has
// for npm, and those that the user's own .npmrc names.
func askNPM(ctx context.Context, npm string, host *hostfs.Host, path []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, configWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "config", "list", "--json", "--long")
	cmd.Dir, cmd.WaitDelay = host.Home, time.Second
	cmd.Env = environ.Build(environ.NPM, host.Environ, append(namedByUser(host), "PATH="+strings.Join(path, string(filepath.ListSeparator)), "npm_config_update_notifier=false", "npm_config_loglevel=silent", "npm_config_logs_max=0")...)
	out := &limited{left: maxConfig}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not end within %v", configWait)
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// namedByUser returns the variables that the .npmrc in the home directory names: npm replaces them
// there. It leaves out those that would act on npm in another way.
func namedByUser(host *hostfs.Host) (pairs []string) {
	for _, name := range npm.References(readSettings(filepath.Join(host.Home, ".npmrc"))) {
		value, set := host.Getenv(name)
		if row, known := environ.Find(name); set && (!known || !row.Reads(environ.Loader) && !row.Reads(environ.Refused)) {
			pairs = append(pairs, name+"="+value)
		}
	}
	return pairs
}

// limited keeps the first bytes of what is written to it.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	keep := min(l.left, len(p))
	l.left -= keep
	l.Buffer.Write(p[:keep])
	return len(p), nil
}

// oldestNPM is the first major version of npm whose lock file names the whole tree.
const oldestNPM = 7

// newEnough returns an error for a version of npm that is too old.
func newEnough(npm string, text func(string) string) error {
	version := text("npm-version")
	if _, rest, ok := strings.Cut(text("user-agent"), "npm/"); version == "" && ok {
		version, _, _ = strings.Cut(rest, " ") // npm 6 and older
	}
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	if err == nil && major < oldestNPM {
		return fmt.Errorf("%s is npm %s: packages are installed with npm %d or newer, whose lock file names the whole tree. Update it: npm install --global npm", npm, version, oldestNPM)
	}
	return nil
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
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, settingText(e))
		}
		return strings.Join(all, "\n\n")
	}
	return ""
}

// addRegistries collects the addresses that settings name.
func (c *npmConfig) addRegistries() error {
	c.registry = nil
	for name, value := range c.settings {
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
	if c.registry == nil {
		return errors.New("npm's configuration names no registry: npm config delete registry gives it the usual one")
	}
	return nil
}

// useOptions applies the options of the line that concern fetching.
func (c *npmConfig) useOptions(line *launcher.Line) error {
	for _, o := range line.Options {
		switch o.Name {
		case "registry", "before", "min-release-age", "omit", "include", "tag", "cafile":
			c.settings[o.Name] = o.Value
		case "userconfig":
			return fmt.Errorf("%s: the option --userconfig is not used by installations: write what it sets into your own .npmrc", line.Packages[0])
		}
		if o.Name == "cafile" && filepath.IsAbs(o.Value) {
			c.files = append(c.files, o.Value)
		}
	}
	return c.addRegistries()
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

// redactor returns a redactor of the secrets of the configuration.
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
