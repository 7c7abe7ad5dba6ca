package resolve

import (
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestProjectsHome checks that a project's server with the name of a user's server gets
// another private HOME. Otherwise the project could prepare the HOME of the user's server.
func TestProjectsHome(t *testing.T) {
	for project, own := range map[string]bool{
		"command = 'bash'": true, "arguments = ['x']": false, "variables = ['A']": false,
		"access.fs = [{ path = '.', read = true }]": false,
	} {
		ws := t.TempDir()
		o, file := config.LoadOptions{Workspace: ws, User: ws + "/user.toml", Trust: ws + "/state/trust.toml"}, filepath.Join(ws, config.ProjectFile)
		testkit.WriteFile(t, o.User, "[servers.s]\ncommand = 'server'\n")
		testkit.Must(t, (config.TrustStore{Path: o.Trust}).Trust(file, testkit.WriteFile(t, file, "[servers.s]\n"+project+"\n")))
		c, err := config.Load(o)
		if err != nil {
			t.Errorf("%s: %v", project, err)
			continue
		}
		if got := c.Servers["s"].Project; (got == file) != own || got != "" && !own {
			t.Errorf("%s: from %q", project, got)
		}
		p, err := c.Policy("s", "")
		testkit.Must(t, err)
		resolved, _, err := Resolve(p, newFake(aSystem, "d /home/u/proj").host())
		testkit.Must(t, err)
		want := "/home/u/.local/state/mcp-jail/servers/s/home"
		if own {
			want = "/home/u/.local/state/mcp-jail/servers/s-" + policy.ShortHash(file) + "/home"
		}
		if resolved.Home != want {
			t.Errorf("%s: HOME is %s", project, resolved.Home)
		}
	}
}
