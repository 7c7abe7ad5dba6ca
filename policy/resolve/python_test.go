package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestKeepCompiled has environments of Python, and whether what is compiled is kept in HOME.
func TestKeepCompiled(t *testing.T) {
	const prefix = "PYTHONPYCACHEPREFIX=/home/u/.local/state/mcp-jail/servers/s/home/.cache/python"
	const site = "/home/u/env/lib/python3.12/site-packages/"
	packages := func(compiled bool, names ...string) (lines string) {
		for _, name := range names {
			lines += "f " + site + name + "/__init__.py\n"
			if compiled {
				lines += "d " + site + name + "/__pycache__\n"
			}
		}
		return lines
	}
	const server = "[servers.s]\ncommand = \"/home/u/env/bin/python\"\narguments = [\"-m\", \"a\"]\n"
	bare := packages(false, "a", "b", "c")
	for _, c := range []struct {
		name, toml, files string
		edit              func(*hostfs.Host)
		want              bool
	}{
		{"not compiled", server, bare, nil, true},
		{"compiled", server, packages(true, "a", "b", "c"), nil, false},
		{"mostly compiled", server, packages(false, "a") + packages(true, "b", "c"), nil, false},
		{"mostly not", server, packages(true, "a") + packages(false, "b", "c"), nil, true},
		{"no packages", server, "f " + site + "a.py\nf " + site + "a-1.dist-info/RECORD\nd " + site + "data", nil, false},
		{"a package after many", server, packages(true, manyNames(maxPackages)...) + packages(false, "z"), nil, false},
		{"not started as an environment", aServer, bare, nil, false},
		{"the server can write it", server + fsTables("/home/u/env:rw"), bare, nil, false},
		{"uv starts a project", "[servers.s]\ncommand = \"uv\"\narguments = [\"--directory\", \"/home/u/app\", \"run\", \"a\"]\n",
			"x /usr/bin/uv\nf /home/u/app/pyproject.toml\nf /home/u/app/.venv/pyvenv.cfg\nf /home/u/app/.venv/lib/python3.12/site-packages/a/__init__.py", nil, true},
		{"HOME is thrown away", server + "stateful = false\n", bare, nil, false},
		{"the real HOME", server + "home = \"real\"\n", bare, nil, false},
		{"the user has a place", server + "variables = [\"PYTHONPYCACHEPREFIX\"]\n", bare, func(h *hostfs.Host) { h.Environ = append(h.Environ, "PYTHONPYCACHEPREFIX=/x") }, false},
		{"the user wants none", server + "variables = [\"PYTHONDONTWRITEBYTECODE\"]\n", bare, func(h *hostfs.Host) { h.Environ = append(h.Environ, "PYTHONDONTWRITEBYTECODE=1") }, false},
		{"a variable that no rule forwards", server, bare, func(h *hostfs.Host) { h.Environ = append(h.Environ, "PYTHONDONTWRITEBYTECODE=1") }, true},
		{"a rule has that place in HOME", server + fsTables("~/.cache:r"), bare + "d /home/u/.cache/x", nil, false},
		{"links on the way", server, "l /home/u/env/lib/python3.12 /data/lib\nf /data/lib/site-packages/a/__init__.py", nil, false},
	} {
		fake := newFake(aSystem, "x /usr/bin/python3.12", "l /home/u/env/bin/python /usr/bin/python3.12", "f /home/u/env/pyvenv.cfg", c.files)
		if c.edit == nil {
			c.edit = func(*hostfs.Host) {}
		}
		p, _ := mustResolve(t, fake, c.toml, c.edit)
		got := ""
		for _, v := range p.Env {
			if v.Name == pythonVariable && strings.HasPrefix(v.Rule, "mcp-jail: ") {
				got = v.Name + "=" + v.Value
			}
		}
		if want := map[bool]string{true: prefix}[c.want]; got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

func manyNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("p%02d", i))
	}
	return names
}
