package resolve

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestStartIn checks where a server with a file of its own starts, and from where its program is named.
func TestStartIn(t *testing.T) {
	h := newFake(aSystem, "d /work/ws", "x /work/ws/run", "d /srv/notes", "x /srv/notes/run", "d /other")
	for _, row := range []struct{ startIn, home, command, want, program string }{
		{policy.StartInWorkspace, "", "./run", "/work/ws", "/work/ws/run"},
		{policy.StartInHome, "", "/work/ws/run", "HOME", "/work/ws/run"},
		{policy.StartInHome, "", "./run", "", ""}, // the workspace decides nothing
		{policy.StartInHome, "real", "/work/ws/run", "/tmp", "/work/ws/run"},
		{"/srv/notes", "", "./run", "/srv/notes", "/srv/notes/run"},
		{"/other", "", "/work/ws/run", "", ""}, // it is not granted
	} {
		cfg, err := config.Decode([]byte("[servers.s]\ncommand = \""+row.command+"\"\nhome = \""+cmp.Or(row.home, "private")+"\"\naccess.fs = [{ path = \".\", read = true, execute = true }, { path = \"/srv/notes\", read = true, execute = true }]\n"), "c.toml")
		testkit.Must(t, err)
		p, err := cfg.Policy("s", "")
		testkit.Must(t, err)
		p.StartIn = row.startIn
		host := h.host()
		host.Dir = "/work/ws"
		out, _, err := Resolve(p, host)
		if row.want == "" {
			if err == nil {
				t.Errorf("%+v: starts %s in %s", row, out.Program, out.Dir)
			}
			continue
		}
		if err != nil || out.Dir != strings.Replace(row.want, "HOME", out.Home, 1) || out.Program != row.program {
			t.Errorf("%+v: %v, %+v", row, err, out)
		}
	}
}

func decoded(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Decode([]byte(text), "f")
	testkit.Must(t, err)
	return c
}

// TestToolsHome checks that each tool has its own copy of HOME, so that one tool cannot
// leave files for another.
func TestToolsHome(t *testing.T) {
	const stateless = aServer + "stateful = false\n"
	for _, c := range []struct {
		toml, tool string
		want       bool
	}{
		{stateless, "search", true}, // declared or not
		{stateless + "[servers.s.tools.search.access]\n", "search", true},
		{stateless + "home = \"private\"\n", "search", true},
		{stateless, "", true}, // the process that lists the tools may read what a tool may not
		{stateless + "home = \"real\"\n", "search", false},
		{aServer, "", false},
	} {
		p, _, err := resolveTool(t, newFake(aSystem), c.toml, c.tool)
		testkit.Must(t, err)
		got := slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Ephemeral })
		if got != c.want {
			t.Errorf("%s, tool %q: %v", c.toml, c.tool, got)
		}
		if !got {
			continue
		}
		home, _ := p.Find(p.Home)
		if !home.Ephemeral || home.Path != p.Home || home.Rights != policy.AllRights || home.Origin != policy.OriginHome {
			t.Errorf("%s, tool %q: %+v", c.toml, c.tool, home)
		}
		kept := *p
		kept.Entries = slices.Clone(p.Entries)
		for i := range kept.Entries {
			kept.Entries[i].Ephemeral = false
		}
		if kept.Key() == p.Key() || kept.SameJail(p) {
			t.Errorf("%s, tool %q: a profile whose HOME is kept counts as the same", c.toml, c.tool)
		}
	}
}
