package resolve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestNamedConfigIsProtected checks that a server cannot write a file that --config names.
func TestNamedConfigIsProtected(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/jail.toml\nf /home/u/proj/conf/real.toml\nl /home/u/proj/link.toml conf/real.toml")
	named := func(h *hostfs.Host) { h.Configs = []string{"/home/u/proj/jail.toml", "/home/u/proj/link.toml"} }
	p, _ := mustResolve(t, h, "[servers.s]\ncommand = '/bin/bash'\n", named)
	for _, file := range []string{"/home/u/proj/jail.toml", "/home/u/proj/conf/real.toml"} {
		if got := p.RightsAt(file); got != policy.Read {
			t.Errorf("%s: %s", file, got)
		}
	}
	if !strings.Contains(strings.Join(p.Unprotected, " "), "/home/u/proj/link.toml") {
		t.Errorf("the link can be replaced: %v", p.Unprotected)
	}
	granted := "[servers.s]\ncommand = '/bin/bash'\naccess.fs = [{ path = '.', read = true, write = true }, { path = 'jail.toml', read = true, write = true }]\n"
	if p, _ = mustResolve(t, h, granted, named); !p.RightsAt("/home/u/proj/jail.toml").Has(policy.Update) {
		t.Error("a rule does not grant it")
	}
}

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
