package install

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
