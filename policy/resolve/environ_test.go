package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestEnvironment(t *testing.T) {
	p, ws := mustResolve(t, newFake(aSystem), aServer+"variables = [\"NODE_OPTIONS\", \"DEBUG\", \"HOME\"]\n[[servers.s.access.env]]\nname = \"MY_*\"\nread = true\n[[servers.s.access.env]]\nname = \"LANG\"\nread = false\n", func(h *hostfs.Host) {
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

// TestPathOfPrograms tests that PATH has a directory of which the jail has one program alone, in
// its order, and none of which it has no program.
func TestPathOfPrograms(t *testing.T) {
	host := newFake(aSystem, "x /home/u/bin/tool\nx /home/u/bin/other\nx /home/u/opt/real\nl /home/u/links/tool ../opt/real\nx /home/u/dirs/sub/x\nl /home/u/shared bin")
	rule := func(path string, rights ...string) string {
		lines := "[[servers.s.access.fs]]\npath = \"" + path + "\"\n"
		for _, r := range rights {
			lines += r + " = true\n"
		}
		return lines
	}
	for _, c := range []struct{ name, rules, path, want string }{
		{"a file", rule("~/bin/tool", "read", "execute"), "/home/u/bin:/usr/bin", "/home/u/bin:/usr/bin"},
		{"a file, later in PATH", rule("~/bin/tool", "read", "execute"), "/usr/bin:/home/u/bin", "/usr/bin:/home/u/bin"},
		{"a file that cannot be started", rule("~/bin/tool", "read"), "/home/u/bin:/usr/bin", "/usr/bin"},
		{"a file of another directory", rule("~/bin/tool", "read", "execute"), "/home/u/links:/usr/bin", "/usr/bin"},
		{"a file through a link to its directory", rule("~/bin/tool", "read", "execute"), "/home/u/shared:/usr/bin", "/home/u/shared:/usr/bin"},
		{"a link", rule("~/links/tool", "read", "execute"), "/home/u/links:/usr/bin", "/home/u/links:/usr/bin"},
		{"a link that cannot be started", rule("~/links/tool", "read"), "/home/u/links:/usr/bin", "/usr/bin"},
		{"the target of a link", rule("~/opt/real", "read", "execute"), "/home/u/links:/usr/bin", "/usr/bin"},
		{"a directory below", rule("~/dirs/sub", "read", "execute"), "/home/u/dirs:/usr/bin", "/usr/bin"},
		{"a directory", rule("~/bin", "read", "execute"), "/home/u/bin:/usr/bin", "/home/u/bin:/usr/bin"},
	} {
		p, _ := mustResolve(t, host, aServer+c.rules, func(h *hostfs.Host) { h.Environ = append(h.Environ, "PATH="+c.path) })
		for _, v := range p.Env {
			if got, _, _ := strings.Cut(v.Value, ":/bin"); v.Name == "PATH" && strings.TrimSuffix(got, ":/usr/local/bin") != c.want {
				t.Errorf("%s: PATH=%s, want %s", c.name, v.Value, c.want)
			}
		}
	}
}
