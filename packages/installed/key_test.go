package installed

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestKey: if variables choose a registry, mcp-jail pins the package under a key of its own, which
// holds no credential. A line without such variables has the plain key.
func TestKey(t *testing.T) {
	for _, c := range []struct{ line, env, npmrc, want string }{
		{"npx -y p", "npm_config_cache=/c PIP_INDEX_URL=https://p.test UV_INDEX_URL=https://u.test OTHER=x", "registry=https://own.test/\n", "p@latest"},
		{"npx -y p", "npm_config_registry=https://me:pw@r.test/npm/", "", "p@latest --registry=https://r.test/npm/"},
		{"npx -y p", "NPM_CONFIG_REGISTRY=https://r.test npm_config_@org:registry=https://o.test", "", "p@latest --@org:registry=https://o.test --registry=https://r.test"},
		{"npx -y p", "WHERE=https://me:pw@w.test", "registry=${WHERE}/npm\nother=${WHERE}\n", "p@latest --registry=https://w.test/npm"},
		{"npx -y p", "WHERE=https://w.test", "//r.test/:_authToken=${WHERE}\n", "p@latest"},
		{"uvx p", "npm_config_registry=https://r.test UV_INDEX_CORP_PASSWORD=pw PIP_RETRIES=0", "", "p@latest"},
		{"uvx p", "UV_DEFAULT_INDEX=https://me:pw@d.test/simple PIP_INDEX_URL=https://g.test", "", "p@latest --index-url=https://d.test/simple --index-url=https://g.test"},
	} {
		line := testkit.Get(runline.Parse(strings.Fields(c.line)))(t)
		local := testkit.Get(hostfs.LocalHost())(t)
		host := &hostfs.Host{Home: t.TempDir(), Dir: "/w", Environ: strings.Fields(c.env), ReadHead: local.ReadHead}
		testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), c.npmrc)
		testkit.Equal(t, fmt.Sprintf("%s with %s", c.line, c.env), Key(&line, host).Spec, c.want)
	}
}
