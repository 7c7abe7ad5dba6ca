package resolve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestNextStart checks that files that a server may have written do not widen the grants
// of its next start.
func TestNextStart(t *testing.T) {
	const ok = "the program starts"
	for _, test := range []struct{ name, files, command, policy, outside, err string }{
		{"a link for hoisted packages", `
			f /home/u/proj/package.json
			f /home/u/proj/dist/package.json
			f /home/u/proj/dist/index.js
			l /home/u/proj/node_modules /home/u/secret
			f /home/u/secret/plan`, "node dist/index.js", "", "/home/u/secret/plan", ok},
		{"a quoted value that env does not take for a program", `
			x /home/u/proj/server #!/usr/bin/env -S A="x /home/u/secret/manage.py " /usr/bin/python3\n
			x /home/u/secret/manage.py #!/usr/bin/env python3\n
			f /home/u/secret/plan`, "./server", "", "/home/u/secret/plan", "names another script, /home/u/secret/manage.py"},
		{"a script as interpreter", `
			x /home/u/proj/server #!/home/u/secret/run\n
			x /home/u/secret/run #!/usr/bin/python3\n`, "./server", "", "/home/u/secret/run", "names another script"},
		{"a list of versions with dots", `
			x /home/u/proj/server #!/home/u/proj/shims/x\n
			x /home/u/proj/shims/x # asdf-plugin: ../../secret .\n
			d /home/u/proj/installs
			x /home/u/secret/bin/x #!/usr/bin/python3\n`, "./server", "", "/home/u/secret/bin/x", "names another script"},
		{"a link to the python of another environment", `
			l /home/u/proj/.venv/bin/python /home/u/secret/bin/python
			f /home/u/proj/.venv/pyvenv.cfg
			l /home/u/secret/bin/python /usr/bin/python3
			f /home/u/secret/pyvenv.cfg`, ".venv/bin/python -m x", "", "/home/u/secret/pyvenv.cfg", ok},
		{"the same where it is a copy", `
			l /home/u/proj/.venv/bin/python /home/u/secret/bin/python
			f /home/u/proj/.venv/pyvenv.cfg
			x /home/u/secret/bin/python
			f /home/u/secret/pyvenv.cfg`, ".venv/bin/python -m x", "", "/home/u/secret/pyvenv.cfg", ok},
		{"the same by a #! line", `
			x /home/u/proj/server #!/home/u/secret/bin/python\n
			l /home/u/secret/bin/python /usr/bin/python3
			f /home/u/secret/pyvenv.cfg`, "./server", "", "/home/u/secret/pyvenv.cfg", ok},
		{"a link to another environment", `
			l /home/u/proj/.venv /home/u/secret
			l /home/u/secret/bin/python /usr/bin/python3
			f /home/u/secret/pyvenv.cfg`, ".venv/bin/python -m x", "", "/home/u/secret/pyvenv.cfg", ok},
		{"a link in another place that it may write to", `
			l /home/u/tools/server.py /home/u/secret/run.py
			f /home/u/secret/run.py`, "python3 /home/u/tools/server.py", "path = '/home/u/tools', read = true, write = true", "/home/u/secret/run.py", ok},
		{"a package.json taken away from there", `
			f /home/u/src/tools/dist/index.js
			f /home/u/src/package.json
			f /home/u/src/secret`, "node /home/u/src/tools/dist/index.js", "path = '/home/u/src/tools', read = true, write = true", "/home/u/src/secret", ok},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newFake(aSystem, "d /home/u/proj\nx /usr/bin/env", test.files)
			words := strings.Fields(test.command)
			for i := range words {
				words[i] = show.TOML(words[i])
			}
			cfg := "[servers.s]\ncommand = " + words[0] + "\narguments = [" + strings.Join(words[1:], ", ") + "]\n"
			if test.policy != "" {
				cfg += "access.fs = [{ " + test.policy + " }]\n"
			}
			p, _, err := resolveFake(t, h, cfg)
			switch {
			case err != nil && (test.err == ok || !strings.Contains(err.Error(), test.err)):
				t.Error(err)
			case err == nil && test.err != ok:
				t.Error("it is not refused")
			case err == nil && p.RightsAt(test.outside) != 0:
				t.Errorf("%s: %s", test.outside, p.RightsAt(test.outside))
			}
		})
	}
}

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
