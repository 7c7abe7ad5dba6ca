package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestEnvironment(t *testing.T) {
	p, ws := mustResolve(t, newFake(aSystem), aServer+"variables = [\"NODE_OPTIONS\", \"DEBUG\", \"HOME\"]\n[[servers.s.access.env]]\nname = \"MY_*\"\nread = true\n[[servers.s.access.env]]\nname = \"LANG\"\n", func(h *hostfs.Host) {
		h.Environ = append(h.Environ, "NODE_OPTIONS=--x", "DEBUG=1", "MY_TOKEN=t", "MY_PLAIN=p", "LD_PRELOAD=l", "LC_ALL=C", "PATH=rel::/usr/bin:.:/usr/bin/:/home/u/bin:/bin", "noequals", "=x")
	})
	got := map[string]policy.Variable{}
	for i, v := range p.Env {
		got[v.Name] = v
		if i > 0 && p.Env[i-1].Name >= v.Name {
			t.Errorf("not sorted: %s", v.Name)
		}
	}
	for name, secret := range map[string]bool{"NODE_OPTIONS": true, "DEBUG": true, "MY_TOKEN": true, "MY_PLAIN": false, "LC_ALL": false, "HOME": false, "TMPDIR": false, "PATH": false} {
		if v, ok := got[name]; !ok || v.Secret != secret {
			t.Errorf("%s: %+v, %v", name, v, ok)
		}
	}
	for _, name := range []string{"LANG", "GH_TOKEN", "LD_PRELOAD", "EDITOR"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s was passed", name)
		}
	}
	if got["PATH"].Value != "/usr/bin:/bin:/usr/local/bin" || got["HOME"].Value != p.Home || got["TMPDIR"].Value != "/tmp" {
		t.Errorf("PATH=%s HOME=%s TMPDIR=%s", got["PATH"].Value, got["HOME"].Value, got["TMPDIR"].Value)
	}
	if codes(ws) != "dangerous-variable no-effect" {
		t.Errorf("warnings %v", ws)
	}
	if want := "EDITOR GH_TOKEN LANG LD_PRELOAD SECRET"; strings.Join(p.Withheld, " ") != want {
		t.Errorf("withheld %v, want %s", p.Withheld, want)
	}
}
