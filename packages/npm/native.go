package npm

import (
	"cmp"
	"net/url"
	"strings"
)

// Fetched returns what the install scripts of a package may fetch, each with its host, as far as its package.json tells.
// headers says that those of Node.js are here. A package with scripts of npm's own has a binding.gyp.
func Fetched(manifest []byte, headers bool) (all []string) {
	m, err := readObject(manifest)
	if err != nil {
		return nil
	}
	scripts := m.object("scripts")
	words := scripts.text("preinstall") + scripts.text("install")
	compiles := words == "" && (m.truth("gypfile") || scripts.text("postinstall") == "")
	words += scripts.text("postinstall")
	host := m.object("binary").text("host")
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		host = u.Host
	}
	if strings.Contains(words, "prebuild-install") {
		host = cmp.Or(host, "github.com")
	} else if !strings.Contains(words, "node-pre-gyp") {
		host = ""
	}
	if host != "" {
		all = append(all, "a compiled module from "+host)
	}
	if compiles = compiles || strings.Contains(words, "node-gyp") || strings.Contains(words, "--fallback-to-build"); compiles && !headers {
		all = append(all, "the headers of Node.js from nodejs.org")
	}
	return all
}
