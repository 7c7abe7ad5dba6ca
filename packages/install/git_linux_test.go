package install

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestGitDependency: a dependency from git, whose .npmrc may name any program as git, starts none. In the control,
// the same npm without a jail has git ask for it.
func TestGitDependency(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		testkit.Skip(t, "git", "%v", err)
	}
	site := registry.Start(t, registry.Stock{})
	p := plain("1.0.0")
	p.Dependencies = map[string]string{"evil": "git+" + site.URL + "/evil.git"}
	site.Publish(p)
	u := newUser(t, site.URL)
	asked := func() bool {
		return slices.ContainsFunc(site.Requests(), func(q registry.Request) bool { return strings.HasPrefix(q.Path, "/evil.git/") })
	}
	u.fails(u.installer(), "plain", "plain")
	if asked() {
		t.Error("git ran in the jail with the network")
	}
	control := exec.Command("npm", "install", "--ignore-scripts", "plain")
	control.Dir, control.Env = t.TempDir(), append(u.host.Environ, "npm_config_fetch_retries=0")
	if out, err := control.CombinedOutput(); err == nil || !asked() {
		t.Errorf("control: %v, %s", err, out)
	}
}
