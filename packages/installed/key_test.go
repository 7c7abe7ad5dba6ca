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
	for _, c := range testkit.Table[struct{ line, env, npmrc, want string }](t, "key.txt") {
		line := testkit.Get(runline.Parse(strings.Fields(c.line)))(t)
		local := testkit.Get(hostfs.LocalHost())(t)
		host := &hostfs.Host{Home: t.TempDir(), Dir: "/w", Environ: strings.Fields(c.env), ReadHead: local.ReadHead}
		testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), c.npmrc)
		testkit.Equal(t, fmt.Sprintf("%s with %s", c.line, c.env), Key(&line, host).Spec, c.want)
	}
}
