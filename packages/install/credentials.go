package install

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// credentialNames are the settings that belong to one registry and that npm needs to log in there.
var credentialNames = []string{"_authToken", "_auth", "username", "_password", "email", "certfile", "keyfile"}

// addCredential keeps a credential if it is for one of the registries.
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

// sameHost reports whether a registry has a host, which may have a port. The port of the scheme
// may be left out on both sides.
func sameHost(r *url.URL, host string) bool {
	usual := map[string]string{"http": ":80", "https": ":443"}[r.Scheme]
	return strings.EqualFold(strings.TrimSuffix(r.Host, usual), strings.TrimSuffix(host, usual))
}

// addCredentials reads the credentials of the registries from a file in npm's format. npm
// itself does not print them.
func (c *npmConfig) addCredentials(file string, host *hostfs.Host) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // most users have no such file, and npm ignores one that it cannot read
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if ok {
			c.addCredential(expand(unquote(name), host), expand(unquote(value), host))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// unquote returns a name or value of an .npmrc without the quotation marks around it.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			return text[1 : len(text)-1]
		}
	}
	return text
}

// reference is a variable in an .npmrc. npm leaves one that is not set as it is, unless a
// question mark follows its name.
var reference = regexp.MustCompile(`\$\{([^${}?]+)(\?)?\}`)

func expand(text string, host *hostfs.Host) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		m := reference.FindStringSubmatch(found)
		value, ok := host.Getenv(m[1])
		if !ok && m[2] == "" {
			return found
		}
		return value
	})
}

// addVariables adds what variables of the user say: credentials, and authorities that
// node trusts.
func (c *npmConfig) addVariables(host *hostfs.Host) {
	const prefix = "npm_config_"
	for _, v := range host.Environ {
		name, value, _ := strings.Cut(v, "=")
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			c.addCredential(name[len(prefix):], value)
		}
	}
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
