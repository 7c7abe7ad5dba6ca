package installed

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestKey: if variables choose a registry, mcp-jail pins the package under a key of its own, which
// holds no credential. A line without such variables has the plain key.
func TestKey(t *testing.T) {
	lstat := func(path string) (hostfs.FileInfo, error) {
		if strings.HasPrefix(path, "/there/") {
			return hostfs.FileInfo{}, nil
		}
		return hostfs.FileInfo{}, fs.ErrNotExist
	}
	for _, c := range []struct{ line, env, npmrc, want string }{
		{"npx -y p", "HOME=/h npm_config_cache=/c npm_config_//r.test/:_authToken=t PIP_INDEX_URL=https://p.test UV_INDEX_URL=https://u.test OTHER=x", "registry=https://own.test/\n", "p@latest"},
		{"npx -y p", "npm_config_registry=", "", "p@latest"},
		{"npx -y p", "npm_config_registry=https://me:pw@r.test/npm/", "", "p@latest --registry=https://r.test/npm/"},
		{"npx -y p", "NPM_CONFIG_REGISTRY=https://r.test npm_config_@My_Org:registry=https://o.test", "", "p@latest --@my-org:registry=https://o.test --registry=https://r.test"},
		{"npx -y p", "WHERE=https://me:pw@w.test", "registry=${WHERE}/npm\nother=${WHERE}\n", "p@latest --registry=https://w.test/npm"},
		{"npx -y p", "WHERE=https://w.test", "//r.test/:_authToken=${WHERE}\n", "p@latest"},
		{"npx -y p", "npm_config_registry=https://${WHERE} WHERE=w.test", "", "p@latest --registry=https://w.test"},
		{"npx -y p", "npm_config_userconfig=/h/.npmrc npm_config_prefix=/usr npm_config_globalconfig=/usr/etc/npmrc", "", "p@latest"},
		{"npx -y p", "npm_config_userconfig=/w/rc npm_config_prefix=/there/p npm_config_globalconfig=/there/rc", "", "p@latest --globalconfig=/there/rc --prefix=/there/p --userconfig=/w/rc"},
		{"uvx p", "npm_config_registry=https://r.test UV_INDEX_CORP_PASSWORD=pw UV_CACHE_DIR=/c PIP_RETRIES=0", "", "p@latest"},
		{"uvx p", "UV_DEFAULT_INDEX=https://me:pw@d.test/simple UV_EXTRA_INDEX_URL=https://a:b@e.test,https://c:d@f.test PIP_INDEX_URL=https://g.test", "", "p@latest --pip-index-url=https://g.test --uv-default-index=https://d.test/simple --uv-extra-index-url=https://e.test,https://f.test"},
	} {
		line, err := runline.Parse(strings.Fields(c.line))
		testkit.Must(t, err)
		host := &hostfs.Host{Home: "/h", Dir: "/w", Environ: strings.Fields(c.env), Lstat: lstat, ReadHead: func(path string, _ int) ([]byte, error) {
			if path != "/h/.npmrc" {
				t.Errorf("%s is read", path)
			}
			return []byte(c.npmrc), nil
		}}
		if got := Key(&line, host).Spec; got != c.want {
			t.Errorf("%s with %s: %q, want %q", c.line, c.env, got, c.want)
		}
	}
}
