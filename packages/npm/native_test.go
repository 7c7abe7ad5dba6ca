package npm

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestFetched tests which hosts are named for the install scripts of packages, in the forms of well-known ones.
func TestFetched(t *testing.T) {
	const module, headers = "a compiled module from ", "the headers of Node.js from nodejs.org"
	for manifest, want := range map[string]string{
		`{"scripts": {"install": "prebuild-install || node-gyp rebuild --release"}}`:                                                 module + "github.com, " + headers,
		`{"scripts": {"install": "prebuild-install -r napi"}, "binary": {"host": "https://cdn.example/x"}}`:                          module + "cdn.example",
		`{"scripts": {"install": "node-pre-gyp install --fallback-to-build"}, "binary": {"host": "https://modules.example:8443/y"}}`: module + "modules.example:8443, " + headers,
		`{"scripts": {"install": "node-gyp-build"}}`:                                                                                 headers,
		`{"gypfile": true, "scripts": {"postinstall": "node made.js"}}`:                                                              headers,
		`{"name": "with a binding.gyp"}`:                                                                                             headers,
		`{"scripts": {"postinstall": "node made.js"}, "binary": {"host": "a.example"}}`:                                              "",
		`[]`: "",
	} {
		testkit.Equal(t, manifest, strings.Join(Fetched([]byte(manifest), false), ", "), want)
		testkit.Equal(t, manifest, strings.Contains(strings.Join(Fetched([]byte(manifest), true), ", "), headers), false)
	}
}
