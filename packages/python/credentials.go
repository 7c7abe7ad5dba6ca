package python

import (
	"net/url"
	"regexp"
	"strings"
)

// address is the address of an index in a text. What follows its host does not matter.
var address = regexp.MustCompile(`https?://[^\s"'/\\,]+`)

// Credentials returns the passwords of package indexes: those in the addresses of configurations
// (pip.conf, uv.toml, variables), those of the variables UV_INDEX_…_PASSWORD, and those that a
// netrc file has for the hosts of the addresses.
func Credentials(configurations []string, netrc string, environ []string) (passwords []string) {
	var hosts []string
	for _, text := range configurations {
		for _, found := range address.FindAllString(text, -1) {
			u, err := url.Parse(found)
			if err != nil || u.Hostname() == "" {
				continue
			}
			hosts = append(hosts, u.Hostname())
			if password, ok := u.User.Password(); ok {
				passwords = append(passwords, password)
			}
		}
	}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "UV_INDEX_") && strings.HasSuffix(name, "_PASSWORD") {
			passwords = append(passwords, value)
		}
	}
	for line := range strings.Lines(Netrc(netrc, hosts)) {
		words := strings.Fields(line)
		for i := 2; i+1 < len(words); i += 2 {
			if words[i] == "password" {
				passwords = append(passwords, words[i+1])
			}
		}
	}
	return passwords
}
